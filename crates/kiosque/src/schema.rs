//! `kiosque schema`

use anyhow::bail;
use clap::Args;

use crate::output;

/// The statements to print.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Schema {
    /// Statements that distribute the tables over the workers of a Citus cluster.
    #[arg(long)]
    citus: bool,
}

pub(crate) fn run(schema: Schema) -> anyhow::Result<()> {
    if !schema.citus {
        bail!("choose the statements to print: --citus");
    }
    output::print(&kiosque_store::citus_statements())
}
