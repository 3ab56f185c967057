//! `kiosque completions`

use std::io::Write;

use clap_complete::Shell;

use crate::CommandOutcome;
use crate::args::Cli;

/// Prints the completion script of a shell.
pub(crate) fn run(shell: Shell) -> anyhow::Result<CommandOutcome> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::described(), "kiosque", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(CommandOutcome::Complete)
}
