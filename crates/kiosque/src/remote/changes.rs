//! `kiosque remote changes`

use std::mem;

use kiosque_remote::lists::CHANGES;
use kiosque_remote::{ChangeReader, CommandError};
use tokio::sync::OnceCell;

use super::print::Printer;
use super::{open, repeat};
use crate::args::ChangesArgs;
use crate::output::eprint_line;
use crate::table::printable;

/// Prints the changes up to the last one; each later round prints new ones.
pub(super) async fn run(args: ChangesArgs) -> Result<(), CommandError> {
    let ChangesArgs { group, after, size, shown } = args;
    let remote = open(&shown.access)?;
    let printer = OnceCell::new();
    let mut reader = None;
    let mut is_first = true;
    // Formats that print a round as a whole: the next round prints what a failed one has read.
    let mut collected = Vec::new();
    repeat(shown.watch, async |_| {
        let new = async || Printer::new(&shown, &[CHANGES], Some(&remote)).await;
        let printer = printer.get_or_try_init(new).await?;
        let reader = match &mut reader {
            Some(reader) => reader,
            none => {
                let (group, after) = (group.group.as_deref(), after.clone());
                none.insert(ChangeReader::new(&remote, group, after, size).await?)
            }
        };
        loop {
            let changes = reader.next(&remote).await?;
            if changes.is_empty() {
                break;
            }
            match printer.prints_rows() {
                true => printer.print(&ChangeReader::listing(changes))?,
                false => collected.extend(changes),
            }
        }
        if !collected.is_empty() || is_first {
            printer.print(&ChangeReader::listing(mem::take(&mut collected)))?;
        }
        if let Some(cursor) = reader.cursor().filter(|_| shown.watch.is_none()) {
            eprint_line!("next cursor: {}", printable(&cursor));
        }
        is_first = false;
        Ok(())
    })
    .await
}
