//! `kiosque openapi`

use crate::Outcome;

pub(crate) fn run() -> anyhow::Result<Outcome> {
    println!("{}", serde_json::to_string_pretty(&kiosque_server::openapi::document())?);
    Ok(Outcome::Complete)
}
