//! `kiosque import orders`

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use kiosque_clock::Clock;
use kiosque_model::ActedBy;
use kiosque_server::ingest::csv::Mapping;
use kiosque_server::ingest::import::{Imported, Progress, Watch, import_ndjson, import_report};
use kiosque_server::ingest::rejected::Rejected;
use kiosque_store::WhenAbsent;

use crate::progress::ImportBar;
use crate::settings::Settings;
use crate::{Done, open};

/// Rejections told on stderr; the file has them all.
const TOLD_MAX: u64 = 50;

pub(crate) async fn run(
    settings: &Settings,
    file: &Path,
    map: Option<&Path>,
) -> anyhow::Result<Done> {
    let mapping = map.map(read_mapping).transpose()?;
    let input = open_input(file)?;
    let store = open::store(settings, WhenAbsent::Create).await?;
    let mut told = Told::new(rejected_path(file))?;
    let imported = match &mapping {
        None => {
            let input = BufReader::with_capacity(1 << 18, input);
            import_ndjson(&store, &Clock::System, input, &mut told).await
        }
        Some(mapping) => import_report(&store, &Clock::System, input, mapping, &mut told).await,
    };
    let told_all = told.finish();
    let imported = imported.with_context(|| file.display().to_string())?;
    print(&imported);
    store.record_act(imported.act(), ActedBy::command(Clock::System.now())).await?;
    told_all?;
    Ok(if imported.rejected == 0 { Done::All } else { Done::InPart })
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
        eprintln!("warning: key {key} means nothing here and was ignored");
    }
    for (what, rows) in imported.left_out.iter().filter(|(_, rows)| *rows > 0) {
        eprintln!("{rows} rows were left out: {what}");
    }
    println!(
        "{} accepted, {} updated, {} unchanged, {} rejected",
        imported.accepted, imported.updated, imported.unchanged, imported.rejected
    );
}

/// Follows an import on stderr, and writes what is rejected to a file of its own.
struct Told {
    bar: ImportBar,
    path: PathBuf,
    file: Option<BufWriter<File>>,
    count: u64,
}

impl Told {
    /// What an earlier run rejected is no longer true.
    fn new(path: PathBuf) -> anyhow::Result<Told> {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(error).with_context(|| path.display().to_string());
            }
            _ => {}
        }
        Ok(Told { bar: ImportBar::new(), path, file: None, count: 0 })
    }

    fn finish(mut self) -> anyhow::Result<()> {
        self.bar.finish();
        if let Some(mut file) = self.file.take() {
            file.flush().with_context(|| self.path.display().to_string())?;
            if self.count > TOLD_MAX {
                eprintln!("… and {} more", self.count - TOLD_MAX);
            }
            eprintln!("what was rejected is in {}", self.path.display());
        }
        Ok(())
    }
}

impl Watch for Told {
    fn rejected(&mut self, rejected: &Rejected) -> io::Result<()> {
        self.count += 1;
        if self.count <= TOLD_MAX {
            self.bar.say(&rejected.told());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(BufWriter::new(File::create(&self.path)?)),
        };
        serde_json::to_writer(&mut *file, &rejected.to_json())?;
        file.write_all(b"\n")
    }

    fn progress(&mut self, progress: Progress) {
        self.bar.show(progress);
    }
}
