//! `kiosque schema`

use anyhow::bail;
use clap::Args;

use crate::Done;

/// What to print of the layout.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Schema {
    /// The statements that distribute the tables over the workers of a Citus cluster.
    #[arg(long)]
    citus: bool,
}

pub(crate) fn run(schema: Schema) -> anyhow::Result<Done> {
    if !schema.citus {
        bail!("say what to print: --citus");
    }
    print!("{}", kiosque_store::citus_statements());
    Ok(Done::All)
}
