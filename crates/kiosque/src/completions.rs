//! `kiosque completions`

use clap_complete::Shell;

use crate::args::Cli;
use crate::output;

/// Prints the completion script of a shell.
pub(crate) fn run(shell: Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::described(), "kiosque", &mut script);
    output::print(&String::from_utf8(script)?)
}
