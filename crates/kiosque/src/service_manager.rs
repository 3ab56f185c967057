//! Reports readiness to a service manager, using the protocol of systemd's `Type=notify`.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The variable with the address of the service manager's socket.
const SOCKET: &str = "NOTIFY_SOCKET";

/// Reports that the server accepts connections. Without a service manager that requests it, nothing
/// happens.
pub(crate) fn report_ready() {
    let Some(socket) = std::env::var_os(SOCKET) else { return };
    if let Err(error) = send(&socket, b"READY=1\n") {
        tracing::warn!(cause = %error, socket = ?socket, "readiness cannot be reported");
    }
}

fn send(socket: &OsStr, state: &[u8]) -> io::Result<()> {
    UnixDatagram::unbound()?.send_to_addr(state, &address(socket)?)?;
    Ok(())
}

/// Returns the address of a socket. A name that begins with `@` is one of Linux's abstract sockets.
fn address(socket: &OsStr) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = socket.as_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt;
        return SocketAddr::from_abstract_name(name);
    }
    SocketAddr::from_pathname(socket)
}
