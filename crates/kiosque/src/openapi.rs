//! `kiosque openapi`

use crate::Done;

pub(crate) fn run() -> anyhow::Result<Done> {
    println!("{}", serde_json::to_string_pretty(&kiosque_server::openapi::document())?);
    Ok(Done::All)
}
