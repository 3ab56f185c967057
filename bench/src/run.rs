//! What the parts of a run share.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::PathBuf;

use serde_json::Value;

use crate::engine::Engine;
use crate::input::write_whole;
use crate::kiosque::Kiosque;
use crate::options::Options;

/// A run of the bench.
pub(crate) struct Run<'a> {
    /// The program to measure.
    pub(crate) program: PathBuf,
    /// Its storage engine.
    pub(crate) engine: Engine,
    /// The directory for generated files and data.
    pub(crate) dir: PathBuf,
    /// Its options.
    pub(crate) options: &'a Options,
}

impl Run<'_> {
    /// Returns the program with the data directory `data`.
    pub(crate) fn kiosque(&self, data: PathBuf) -> Kiosque {
        let name = data.file_name().map(|name| name.to_string_lossy().replace('-', "_"));
        let database = name.unwrap_or_default();
        Kiosque { program: self.program.clone(), data, engine: self.engine.clone(), database }
    }

    /// Returns the program with new data for a part: a fleet, and the orders that `write_orders`
    /// writes.
    ///
    /// # Errors
    /// The files cannot be written, or data of an earlier run cannot be removed.
    pub(crate) fn filled(
        &self,
        part: &str,
        fleet: &Value,
        write_orders: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Kiosque> {
        fs::create_dir_all(&self.dir)?;
        let fleet_file = self.dir.join(format!("{part}-fleet.json"));
        write_whole(&fleet_file, |out| Ok(serde_json::to_writer(out, fleet)?))?;
        let orders = self.dir.join(format!("{part}-orders.ndjson"));
        write_whole(&orders, write_orders)?;
        let kiosque = self.kiosque(self.dir.join(format!("data-{part}")));
        kiosque.begin_with(&fleet_file)?;
        kiosque.run(&["import", "orders"], &orders);
        self.engine.settle()?;
        Ok(kiosque)
    }
}
