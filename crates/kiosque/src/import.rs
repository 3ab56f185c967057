//! `kiosque import orders`

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use kiosque_clock::Clock;
use kiosque_ingest::csv::Mapping;
use kiosque_ingest::import::{ImportObserver, Imported, Progress, import_ndjson, import_report};
use kiosque_ingest::rejected::Rejected;
use kiosque_model::audit::CommandRun;
use kiosque_store::{Changes, WhenAbsent};

use crate::progress::ImportBar;
use crate::settings::Settings;
use crate::{CommandOutcome, acting, dry_run, open};

/// Most rejections printed on stderr; the file has all.
const PRINTED_MAX: u64 = 50;

pub(crate) async fn run(
    settings: &Settings,
    file: &Path,
    map: Option<&Path>,
    changes: Changes,
) -> anyhow::Result<CommandOutcome> {
    let mapping = map.map(read_mapping).transpose()?;
    let input = open_input(file)?;
    let store = open::store_for(settings, WhenAbsent::Refuse, changes).await?;
    let lead_max = settings.limits()?.order_lead_max;
    // A dry run leaves the file of an earlier run as it is.
    let rejected = (changes == Changes::Stored).then(|| rejected_path(file));
    let mut reporter = Reporter::new(rejected)?;
    let run = CommandRun {
        file: Some(acting::file_name(file)),
        mapping: map.map(acting::file_name),
        ..acting::run_of("import orders")
    };
    let import = acting::begin_import(&store, run).await?;
    let run = &import.run;
    let imported = match &mapping {
        None => {
            let input = BufReader::with_capacity(1 << 18, input);
            import_ndjson(&store, &Clock::System, lead_max, input, &mut reporter).await
        }
        Some(mapping) => {
            import_report(&store, &Clock::System, lead_max, input, mapping, run, &mut reporter)
                .await
        }
    };
    if imported.is_err() && changes == Changes::Stored {
        eprintln!(
            "{} orders of {} are stored; repeat the command to store the others",
            reporter.stored(),
            file.display()
        );
    }
    let reported = reporter.finish();
    let imported = imported.with_context(|| file.display().to_string())?;
    print(&imported);
    if let Some(preview) = &imported.preview {
        dry_run::print_preview(preview, store.zone())?;
    }
    import.end(&store, imported.act()).await?;
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
    /// The file for rejections; `None` in a dry run.
    path: Option<PathBuf>,
    file: Option<BufWriter<File>>,
    count: u64,
    /// Orders stored of earlier parts of the file, and of this one.
    stored: [u64; 2],
}

impl Reporter {
    /// Removes the file of an earlier run: its rejections may be fixed by now.
    fn new(path: Option<PathBuf>) -> anyhow::Result<Reporter> {
        if let Some(path) = &path {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| path.display().to_string());
                }
                _ => {}
            }
        }
        Ok(Reporter { bar: ImportBar::new(), path, file: None, count: 0, stored: [0; 2] })
    }

    /// Returns the number of orders that are stored, new or not.
    fn stored(&self) -> u64 {
        self.stored.iter().sum()
    }

    fn finish(mut self) -> anyhow::Result<()> {
        self.bar.finish();
        if self.count > PRINTED_MAX {
            eprintln!("… and {} more", self.count - PRINTED_MAX);
        }
        if let (Some(mut file), Some(path)) = (self.file.take(), &self.path) {
            file.flush().with_context(|| path.display().to_string())?;
            eprintln!("rejected lines are in {}", path.display());
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
        let Some(path) = &self.path else { return Ok(()) };
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(BufWriter::new(File::create(path)?)),
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
