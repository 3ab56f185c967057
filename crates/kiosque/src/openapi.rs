//! `kiosque openapi`

use kiosque_server::{Audience, openapi};

use crate::CommandOutcome;

/// Prints the OpenAPI document of the calls of one audience.
pub(crate) fn run(audience: Audience) -> anyhow::Result<CommandOutcome> {
    let document = match audience {
        Audience::Gateway => openapi::document(),
        Audience::Operator => openapi::operator::document(),
    };
    println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(CommandOutcome::Complete)
}
