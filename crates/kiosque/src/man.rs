//! `kiosque man`

use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::Command;
use clap_mangen::Man;

use crate::args::Cli;

/// Writes the manual page of each command to a directory, which is created if it does not exist.
pub(crate) fn run(directory: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let mut command = Cli::described().disable_help_subcommand(true);
    command.build();
    write_pages(&command, directory)
}

/// Writes the pages of a command and all its subcommands.
fn write_pages(command: &Command, directory: &Path) -> anyhow::Result<()> {
    for below in command.get_subcommands() {
        write_pages(below, directory)?;
    }
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let file = directory.join(format!("{name}.1"));
    fs::write(&file, page(command)?).with_context(|| file.display().to_string())
}

/// Returns the page of a command. `EXTRA`, the heading of the text after the options, is replaced:
/// the text contains the examples.
fn page(command: &Command) -> anyhow::Result<String> {
    let mut page = Vec::new();
    let man = Man::new(command.clone()).manual("Kiosque");
    man.source(concat!("kiosque ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    let page = String::from_utf8(page)?;
    Ok(page.replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n"))
}
