//! `kiosque config`

use crate::args::ConfigWhat;
use crate::{output, settings};

pub(crate) fn run(what: ConfigWhat) -> anyhow::Result<()> {
    match what {
        ConfigWhat::Print => output::print(&settings::template()),
    }
}
