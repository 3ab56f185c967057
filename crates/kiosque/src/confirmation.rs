//! Confirmations on the terminal.

use std::io::{self, IsTerminal, Write};

use anyhow::bail;

/// Asks for a confirmation. Without a terminal it fails, with an error that begins with `cause`.
pub(crate) fn is_confirmed(cause: &str, prompt: &str) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        bail!("{cause}standard input is not a terminal on which to confirm this; give --yes");
    }
    write!(io::stderr(), "{prompt} [y/N] ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
