//! `kiosque openapi`

use anyhow::bail;
use kiosque_contract::GATEWAY_PREFIX;
use kiosque_openapi::{integrator, operator};
use kiosque_server::Audience;

use crate::output::print_line;

/// Prints the OpenAPI document of the calls of one audience, at a base URL.
pub(crate) fn run(audience: Audience, server: Option<String>) -> anyhow::Result<()> {
    let server = server.as_deref();
    if let Some(server) = server {
        check(server, audience)?;
    }
    let document = match audience {
        Audience::Gateway => integrator::document(server.unwrap_or(integrator::DEFAULT_SERVER)),
        Audience::Operator => operator::document(server.unwrap_or(operator::DEFAULT_SERVER)),
    };
    print_line!("{}", serde_json::to_string_pretty(&document)?)
}

/// Checks that a text can be the base URL, to which the paths of the document are appended.
fn check(server: &str, audience: Audience) -> anyhow::Result<()> {
    let host = server.strip_prefix("https://").unwrap_or_default();
    let is_plain =
        server.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#\"<>\\".contains(&byte));
    if host.is_empty() || host.starts_with('/') || host.ends_with('/') || !is_plain {
        bail!(
            "--server: {server:?} is not a base URL; write it like https://kiosque.example.com/v8"
        );
    }
    if audience == Audience::Gateway && !host.ends_with(GATEWAY_PREFIX) {
        bail!(
            "--server: the base URL of the integrators' calls ends with {GATEWAY_PREFIX}: \
               {server}{GATEWAY_PREFIX}"
        );
    }
    Ok(())
}
