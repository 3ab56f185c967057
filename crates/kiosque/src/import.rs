//! `kiosque import orders`

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context;
use kiosque_clock::Clock;
use kiosque_contract::RejectedOrder;
use kiosque_https_client::read_text_file;
use kiosque_ingest::csv::Mapping;
use kiosque_ingest::import::{
    ImportError, ImportObserver, ImportRules, Imported, Progress, Strictness, import_ndjson,
    import_report,
};
use kiosque_ingest::rejected::Rejected;
use kiosque_model::audit::{CommandRun, Interruption};
use kiosque_model::counted;
use kiosque_store::{Changes, Error, IMPORT_REJECTED_MAX, WhenAbsent};

use crate::args::OrderImport;
use crate::interrupt::{self, Interrupt};
use crate::output::{eprint_line, print_line};
use crate::progress::Bar;
use crate::rejected_file::RejectedFile;
use crate::settings::Settings;
use crate::table::printable;
use crate::{CommandOutcome, acting, dry_run, open};

/// Maximum rejections printed on stderr; the file has all of them.
const PRINTED_MAX: u64 = 50;

pub(crate) async fn run(settings: &Settings, args: OrderImport) -> anyhow::Result<CommandOutcome> {
    let file = args.file.as_path();
    let changes = args.dry_run.changes();
    let mapping = args.map.as_deref().map(read_mapping).transpose()?;
    let input = open_input(file)?;
    let store = open::store_for(settings, WhenAbsent::Refuse, changes).await?;
    let strictness = if args.strict { Strictness::Strict } else { Strictness::Lenient };
    let rules = ImportRules { lead_max: settings.limits()?.order_lead_max, strictness };
    // A dry run writes no file, and does not change the file of an earlier run.
    let rejected = (changes == Changes::Stored).then(|| rejected_file(&args)).transpose()?;
    let run = CommandRun {
        file: Some(acting::file_name(file)),
        mapping: args.map.as_deref().map(acting::file_name),
        ..acting::run_of("import orders")
    };
    let stored = Arc::<AtomicU64>::default();
    let import = acting::begin_import(&store, run, Arc::clone(&stored)).await?;
    let run = &import.run;
    let (recording, of_run) = (store.clone(), run.clone());
    let record = async move {
        // A transaction that is in progress may still store orders.
        let reason = Interruption::Signal;
        acting::interrupt_import(&recording, &of_run, reason, None, Vec::new()).await;
    };
    let mut reporter = Reporter::new(file, rejected, changes, stored, record)?;
    let imported = match &mapping {
        None => {
            let input = BufReader::with_capacity(1 << 18, input);
            import_ndjson(&store, &Clock::System, rules, input, run, &mut reporter).await
        }
        Some(mapping) => {
            import_report(&store, &Clock::System, rules, input, mapping, run, &mut reporter).await
        }
    };
    let status = reporter.interrupt.status();
    let stored = reporter.stored.load(Ordering::Relaxed);
    let is_exact = !imported.as_ref().is_err_and(has_unknown_outcome);
    if imported.as_ref().is_err_and(is_resumable) {
        let at_least = if is_exact { "" } else { "at least " };
        print_stored(&format!("{at_least}{}", stored_of(stored, file)), status.is_some(), changes);
    }
    let rejected = Vec::from(std::mem::take(&mut reporter.latest));
    let reported = reporter.finish();
    let imported = match imported {
        Ok(imported) => imported,
        Err(error) => {
            let reason = status.map_or(Interruption::Failure, |_| Interruption::Signal);
            let stored = is_exact.then_some(stored);
            acting::interrupt_import(&store, run, reason, stored, rejected).await;
            if let (ImportError::Interrupted, Some(status)) = (&error, status) {
                reported?;
                return Ok(CommandOutcome::Failed(status));
            }
            return Err(error).with_context(|| file.display().to_string());
        }
    };
    // The result is recorded before it is printed, so that a closed stdout does not matter.
    let id = import.end(&store, imported.act(), rejected).await?;
    print(&imported, file)?;
    if let Some(preview) = &imported.preview {
        dry_run::print_preview(preview, store.zone())?;
    }
    acting::print_import(id)?;
    reported?;
    let is_complete = imported.counts.rejected == 0;
    Ok(if is_complete { CommandOutcome::Complete } else { CommandOutcome::Partial })
}

fn rejected_file(args: &OrderImport) -> anyhow::Result<RejectedFile> {
    match &args.rejected {
        Some(path) => RejectedFile::named(path),
        None if args.map.is_some() => RejectedFile::after(&args.file, "csv"),
        None => RejectedFile::after(&args.file, "ndjson"),
    }
}

/// Returns whether an import ended between orders, so that the rest can be imported later.
fn is_resumable(error: &ImportError) -> bool {
    !matches!(error, ImportError::Refused(_))
}

/// Returns whether the last transaction of an import may have stored further orders.
fn has_unknown_outcome(error: &ImportError) -> bool {
    matches!(error, ImportError::Store(Error::Unknown(_)))
}

fn read_mapping(path: &Path) -> anyhow::Result<Mapping> {
    let text = read_text_file(path).with_context(|| path.display().to_string())?;
    Mapping::parse(&text).map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))
}

fn open_input(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let input = File::open(file).with_context(|| file.display().to_string())?;
    let is_directory = input.metadata().is_ok_and(|about| about.is_dir());
    anyhow::ensure!(!is_directory, "{} is a directory; specify a file", file.display());
    Ok(Box::new(input))
}

/// Returns the message for an import that ends early.
fn stored_of(stored: u64, file: &Path) -> String {
    let file = if file == Path::new("-") { Path::new("standard input") } else { file };
    let file = file.display();
    let orders = counted(stored, "order");
    let are = if stored == 1 { "is" } else { "are" };
    format!("{orders} of {file} {are} stored; repeat the command to store the others")
}

/// Prints what an import that ended early has stored.
fn print_stored(stored: &str, by_signal: bool, changes: Changes) {
    match (by_signal, changes) {
        (true, Changes::Stored) => eprint_line!("interrupted: {stored}"),
        (true, Changes::RolledBack) => eprint_line!("interrupted: nothing was changed"),
        (false, Changes::Stored) => eprint_line!("{stored}"),
        (false, Changes::RolledBack) => {}
    }
}

fn print(imported: &Imported, file: &Path) -> anyhow::Result<()> {
    if imported.lines == 0 {
        eprint_line!("warning: {} has no orders", file.display());
    }
    for key in &imported.unknown_keys {
        eprint_line!("warning: unknown key {key} was ignored");
    }
    if let Some(line) = imported.cut_line {
        warn_of_cut_line(line, file);
    }
    for (reason, rows) in imported.left_out.iter().filter(|(_, rows)| *rows > 0) {
        let were = if *rows == 1 { "was" } else { "were" };
        eprint_line!("{} {were} skipped: {reason}", counted(*rows, "row"));
    }
    print_line!("{}", imported.counts)
}

/// Prints a warning about a last line without a line end.
pub(crate) fn warn_of_cut_line(line: u64, file: &Path) {
    let file = file.display();
    eprint_line!(
        "warning: the last line of {file}, {line}, has no line end; the file may be cut off"
    );
}

/// Shows the progress of an import, prints rejections and writes them to a file.
struct Reporter {
    bar: Bar,
    interrupt: Interrupt,
    /// The file for rejections; `None` in a dry run.
    file: Option<RejectedFile>,
    count: u64,
    /// The last rejected lines.
    latest: VecDeque<RejectedOrder>,
    /// The number of stored orders, new or not.
    stored: Arc<AtomicU64>,
    /// The number from earlier parts of the file.
    stored_before: u64,
}

impl Reporter {
    /// Returns the reporter of an import. `record` stores that it was interrupted, if it cannot
    /// end by itself.
    fn new(
        input: &Path,
        file: Option<RejectedFile>,
        changes: Changes,
        stored: Arc<AtomicU64>,
        record: impl Future<Output = ()> + Send + 'static,
    ) -> anyhow::Result<Reporter> {
        let bar = Bar::new("reading");
        let shown = bar.clone();
        let count = Arc::clone(&stored);
        let input = input.to_owned();
        let print = move || {
            shown.clear();
            let stored = stored_of(count.load(Ordering::Relaxed), &input);
            print_stored(&format!("at least {stored}"), true, changes);
        };
        let interrupt = Interrupt::after(interrupt::GRACE, print, record)?;
        let latest = VecDeque::new();
        Ok(Reporter { bar, interrupt, file, count: 0, latest, stored, stored_before: 0 })
    }

    fn finish(self) -> anyhow::Result<()> {
        self.bar.clear();
        if self.count > PRINTED_MAX {
            eprint_line!("… and {} more", self.count - PRINTED_MAX);
        }
        let written = self.file.map(RejectedFile::finish).transpose()?;
        if let Some(path) = written.flatten() {
            eprint_line!("rejected lines are in {}", path.display());
        }
        Ok(())
    }
}

impl ImportObserver for Reporter {
    fn rejected(&mut self, rejected: &Rejected) -> io::Result<()> {
        self.count += 1;
        if self.count <= PRINTED_MAX {
            self.bar.print(&printable(&rejected.message()));
        }
        if self.latest.len() == IMPORT_REJECTED_MAX {
            self.latest.pop_front();
        }
        self.latest.push_back(rejected.reported());
        match &mut self.file {
            Some(file) => file.write(rejected),
            None => Ok(()),
        }
    }

    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        match progress {
            Progress::Read(_) => self.stored_before = self.stored.load(Ordering::Relaxed),
            Progress::Stored { stored, .. } => {
                self.stored.store(self.stored_before + stored, Ordering::Relaxed);
            }
        }
        self.bar.show_import(progress);
        match self.interrupt.status() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}
