//! `kiosque broker status`

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::output::{self, CLEAR};

/// The interval of `--watch`.
pub(super) const INTERVAL: Duration = Duration::from_secs(2);
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Prints the status, at an interval until the process is ended, or once.
pub(super) async fn print(address: SocketAddr, interval: Option<Duration>) -> anyhow::Result<()> {
    let clears = interval.is_some() && io::stdout().is_terminal();
    let before = if clears { CLEAR } else { "" };
    loop {
        output::print(&format_args!("{before}{}", fetch(address).await?))?;
        let Some(interval) = interval else { return Ok(()) };
        tokio::time::sleep(interval).await;
    }
}

/// Requests the broker's status.
async fn fetch(address: SocketAddr) -> anyhow::Result<String> {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await?;
        let request = format!("GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        io::Result::Ok(answer)
    };
    let answer = tokio::time::timeout(ANSWER_MAX, exchange).await;
    let answer = answer.context("the broker does not answer")?;
    let answer = answer.with_context(|| {
        format!("no broker at {address}: is it started with --status-listen {address}?")
    })?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200") => Ok(body.to_owned()),
        _ => bail!("the program that listens on {address} is not a broker; see --status-listen"),
    }
}
