//! `kiosque config`

use crate::args::ConfigWhat;
use crate::{CommandOutcome, output, settings};

pub(crate) fn run(what: ConfigWhat) -> anyhow::Result<CommandOutcome> {
    match what {
        ConfigWhat::Print => output::print(&settings::template())?,
    }
    Ok(CommandOutcome::Complete)
}
