//! `kiosque openapi`

use kiosque_server::openapi;

use crate::Outcome;

pub(crate) fn run(operator: bool) -> anyhow::Result<Outcome> {
    let document = if operator { openapi::operator::document() } else { openapi::document() };
    println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(Outcome::Complete)
}
