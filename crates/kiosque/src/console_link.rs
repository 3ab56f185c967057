//! `kiosque console-link`

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::{Context, bail};
use clap::Args;
use kiosque_clock::Entropy;
use kiosque_model::{ActedBy, ConsoleSecret, KeyName};
use kiosque_server::console_link;
use kiosque_store::Store;

use crate::output::{eprint_line, print_line};
use crate::settings::Settings;
use crate::{acting, open};

/// The arguments of `kiosque console-link`.
#[derive(Args, Debug)]
pub(crate) struct ConsoleLinkArgs {
    /// Name of the operator's key to sign in with.
    #[arg(long, value_name = "NAME")]
    pub(crate) key_name: String,
    /// Base URL at which the browser reaches the operator's listener [default: https:// and
    /// --operator-listen].
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
}

/// Prints only a link. It cannot be printed again: only its digest is stored.
pub(crate) async fn run(settings: &Settings, args: ConsoleLinkArgs) -> anyhow::Result<()> {
    let name = KeyName::parse(args.key_name).context("the key's name")?;
    let server = match args.server {
        Some(server) => checked(server)?,
        None => server_at(settings.serve.operator_listen),
    };
    let store = open::store(settings).await?;
    let Some(link) = create(&store, name.clone(), &server, acting::by("console-link")).await?
    else {
        bail!("there is no active key named {name}; `kiosque operator-key list` prints all")
    };
    print_line!("{link}")?;
    eprint_line!("open it within a minute; it works once");
    Ok(())
}

/// Creates a link; `None` if no live key has the name.
pub(crate) async fn create(
    store: &Store,
    name: KeyName,
    server: &str,
    by: ActedBy,
) -> anyhow::Result<Option<String>> {
    let token = ConsoleSecret::mint(Entropy::system().bytes()?);
    let is_created = store.operators().create_link(name, token.digest(), by).await?;
    Ok(is_created.then(|| console_link(server, &token)))
}

/// Returns the base URL of a listener, for a browser on the same machine.
pub(crate) fn server_at(address: SocketAddr) -> String {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    format!("https://{}", SocketAddr::new(host, address.port()))
}

/// Returns the base URL of `--server` without a slash at its end.
fn checked(server: String) -> anyhow::Result<String> {
    let server = server.strip_suffix('/').map(str::to_owned).unwrap_or(server);
    let host = server.strip_prefix("https://").unwrap_or_default();
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:[]".contains(&byte);
    if host.is_empty() || !host.bytes().all(is_host) {
        bail!(
            "--server: {server:?} is not the address of a listener; write it like \
             https://ops.example.com"
        );
    }
    Ok(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_reaches_the_listener_of_all_addresses() {
        for (listen, server) in [
            ("0.0.0.0:8444", "https://127.0.0.1:8444"),
            ("[::]:8444", "https://[::1]:8444"),
            ("192.0.2.1:443", "https://192.0.2.1:443"),
        ] {
            assert_eq!(server_at(listen.parse().expect("an address")), server);
        }
        assert_eq!(
            checked("https://ops.example/".to_owned()).expect("a URL"),
            "https://ops.example"
        );
        for wrong in
            ["", "ops.example", "http://ops.example", "https://", "https://a/b", "https://a b"]
        {
            assert!(checked(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
