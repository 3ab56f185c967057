//! The output of commands that read: tables for people, or JSON for programs.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use clap::{Args, ValueEnum};
use kiosque_model::{UnixMs, Zone};
use kiosque_store::{Error, Listed, Listing};
use serde::Serialize;

use crate::table::cell;

/// The maximum number of entries that one read returns.
const PART: usize = 1_000;

/// The flag of commands that print lists.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Output {
    /// Print a table for people, or JSON for programs.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: Format,
}

/// The format of a command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
}

impl Output {
    /// Prints a value in the format that the caller chose.
    pub(crate) fn print<'v, T: Serialize, D: Display>(
        self,
        value: &'v T,
        table: impl FnOnce(&'v T) -> D,
    ) -> anyhow::Result<()> {
        match self.output {
            Format::Table => print(&table(value)),
            Format::Json => print(&format_args!("{}\n", serde_json::to_string(value)?)),
        }
    }
}

/// Prints a text on stdout. It is not an error if a reader, such as `head`, has closed it. All
/// commands print with this function: `println!` would panic in this case.
pub(crate) fn print(text: &impl Display) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context(CANNOT_WRITE),
        _ => Ok(()),
    }
}

/// Clears a terminal.
pub(crate) const CLEAR: &str = "\x1b[2J\x1b[H";

/// The context of an error of stdout.
pub(crate) const CANNOT_WRITE: &str = "cannot write to standard output";

/// Prints a line on stdout, with the arguments of `println!`; see [`print()`].
macro_rules! print_line {
    ($($text:tt)*) => {
        $crate::output::print(&format_args!("{}\n", format_args!($($text)*)))
    };
}
pub(crate) use print_line;

/// Visits the entries of a list, which is read in parts.
pub(crate) async fn each<T, K>(
    read: impl AsyncFn(Listing<K>) -> Result<Listed<T, K>, Error>,
    mut visit: impl FnMut(T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut after = None;
    loop {
        let Listed { entries, next } = read(Listing { after, limit: PART }).await?;
        entries.into_iter().try_for_each(&mut visit)?;
        match next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}

/// Returns a complete list.
pub(crate) async fn whole<T, K>(
    read: impl AsyncFn(Listing<K>) -> Result<Listed<T, K>, Error>,
) -> anyhow::Result<Vec<T>> {
    let mut all = Vec::new();
    let keep = |entry| {
        all.push(entry);
        Ok(())
    };
    each(read, keep).await?;
    Ok(all)
}

/// Returns a path, absolute if the current directory is known.
pub(crate) fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Returns a time in the platform's zone, or the text of an absent value.
pub(crate) fn time(zone: &Zone, ms: Option<i64>) -> String {
    cell(ms.map(|ms| zone.text(UnixMs(ms))))
}

/// Formats a flag as `yes` or `no`.
pub(crate) struct YesNo(pub(crate) bool);

impl Display for YesNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0 { "yes" } else { "no" })
    }
}

/// Prints a line on stderr, with the arguments of `eprintln!`, which panics when stderr is closed
/// or full. A message that cannot be written is lost, without aborting the operation.
macro_rules! eprint_line {
    ($($text:tt)*) => {
        $crate::output::print_message(format_args!($($text)*))
    };
}
pub(crate) use eprint_line;

/// See [`eprint_line`].
pub(crate) fn print_message(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Returns a path as a word of a shell command.
pub(crate) fn shell_quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
