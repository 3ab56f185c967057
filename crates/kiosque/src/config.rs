//! `kiosque config`

use crate::CommandOutcome;
use crate::args::ConfigWhat;
use crate::settings;

pub(crate) fn run(what: ConfigWhat) -> anyhow::Result<CommandOutcome> {
    match what {
        ConfigWhat::Print => print!("{}", settings::template()),
    }
    Ok(CommandOutcome::Complete)
}
