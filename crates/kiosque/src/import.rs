//! `kiosque import orders`

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use kiosque_clock::Clock;
use kiosque_ingest::csv::Mapping;
use kiosque_ingest::import::{ImportObserver, Imported, Progress, import_ndjson, import_report};
use kiosque_ingest::rejected::Rejected;
use kiosque_model::ActedBy;
use kiosque_model::audit::CommandRun;
use kiosque_store::WhenAbsent;

use crate::progress::ImportBar;
use crate::settings::Settings;
use crate::{CommandOutcome, acting, open};

/// Most rejections printed on stderr; the file has all.
const PRINTED_MAX: u64 = 50;

pub(crate) async fn run(
    settings: &Settings,
    file: &Path,
    map: Option<&Path>,
) -> anyhow::Result<CommandOutcome> {
    let mapping = map.map(read_mapping).transpose()?;
    let input = open_input(file)?;
    let store = open::store(settings, WhenAbsent::Refuse).await?;
    let lead_max = settings.limits()?.order_lead_max;
    let mut reporter = Reporter::new(rejected_path(file))?;
    let run = CommandRun {
        file: Some(acting::file_name(file)),
        mapping: map.map(acting::file_name),
        ..acting::run_of("import orders")
    };
    let imported = match &mapping {
        None => {
            let input = BufReader::with_capacity(1 << 18, input);
            import_ndjson(&store, &Clock::System, lead_max, input, &mut reporter).await
        }
        Some(mapping) => {
            import_report(&store, &Clock::System, lead_max, input, mapping, &run, &mut reporter)
                .await
        }
    };
    if imported.is_err() {
        eprintln!(
            "{} orders of {} are stored; repeat the command to store the others",
            reporter.stored(),
            file.display()
        );
    }
    let reported = reporter.finish();
    let imported = imported.with_context(|| file.display().to_string())?;
    print(&imported);
    store.record_act(imported.act(), ActedBy::run(run, Clock::System.now())).await?;
    reported?;
    Ok(if imported.rejected == 0 { CommandOutcome::Complete } else { CommandOutcome::Partial })
}

fn read_mapping(path: &Path) -> anyhow::Result<Mapping> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    Mapping::parse(&text)
        .map_err(|faults| anyhow::anyhow!("{}:\n{}", path.display(), faults.join("\n")))
}

fn open_input(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let input = File::open(file).with_context(|| file.display().to_string())?;
    Ok(Box::new(input))
}

fn rejected_path(file: &Path) -> PathBuf {
    let name = if file == Path::new("-") { Path::new("stdin") } else { file };
    let mut path = name.as_os_str().to_owned();
    path.push(".rejected.ndjson");
    path.into()
}

fn print(imported: &Imported) {
    for key in &imported.unknown_keys {
        eprintln!("warning: unknown key {key} was ignored");
    }
    for (reason, rows) in imported.left_out.iter().filter(|(_, rows)| *rows > 0) {
        eprintln!("{rows} rows were skipped: {reason}");
    }
    println!(
        "{} accepted, {} updated, {} unchanged, {} rejected",
        imported.accepted, imported.updated, imported.unchanged, imported.rejected
    );
}

/// Shows the progress of an import, prints rejections and writes them to a file.
struct Reporter {
    bar: ImportBar,
    path: PathBuf,
    file: Option<BufWriter<File>>,
    count: u64,
    /// Orders stored of earlier parts of the file, and of this one.
    stored: [u64; 2],
}

impl Reporter {
    /// Removes the file of an earlier run: its rejections may be fixed by now.
    fn new(path: PathBuf) -> anyhow::Result<Reporter> {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| path.display().to_string());
            }
            _ => {}
        }
        Ok(Reporter { bar: ImportBar::new(), path, file: None, count: 0, stored: [0; 2] })
    }

    /// Returns the number of orders that are stored, new or not.
    fn stored(&self) -> u64 {
        self.stored.iter().sum()
    }

    fn finish(mut self) -> anyhow::Result<()> {
        self.bar.finish();
        if let Some(mut file) = self.file.take() {
            file.flush().with_context(|| self.path.display().to_string())?;
            if self.count > PRINTED_MAX {
                eprintln!("… and {} more", self.count - PRINTED_MAX);
            }
            eprintln!("rejected lines are in {}", self.path.display());
        }
        Ok(())
    }
}

impl ImportObserver for Reporter {
    fn rejected(&mut self, rejected: &Rejected) -> io::Result<()> {
        self.count += 1;
        if self.count <= PRINTED_MAX {
            self.bar.print(&rejected.message());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(BufWriter::new(File::create(&self.path)?)),
        };
        serde_json::to_writer(&mut *file, &rejected.to_json())?;
        file.write_all(b"\n")
    }

    fn progress(&mut self, progress: Progress) {
        match progress {
            Progress::Read(_) => self.stored = [self.stored(), 0],
            Progress::Stored(stored, _) => self.stored[1] = stored,
        }
        self.bar.show(progress);
    }
}
