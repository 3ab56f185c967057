//! The input files, generated once for each size and kept.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::options::Size;
use crate::{dashboards, fleet, orders};

/// Increased when the generator makes other files for the same size.
const GENERATION: u32 = 3;

/// The input files of one size, and the directory for data made from them.
pub(crate) struct Input {
    /// The size.
    pub(crate) size: Size,
    /// The directory of this size.
    pub(crate) dir: PathBuf,
    /// The fleet file.
    pub(crate) fleet: PathBuf,
    /// The exchange rates, CSV.
    pub(crate) rates: PathBuf,
    /// The orders, NDJSON.
    pub(crate) orders: PathBuf,
}

impl Input {
    /// Returns the input files of `size` under `root`, and generates them unless they exist.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn prepare(root: &Path, size: &Size, fresh: bool) -> anyhow::Result<Input> {
        let dir = root.join(format!("v{GENERATION}-{}", size.directory()));
        fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let (fleet, orders) = (dir.join("fleet.json"), dir.join("orders.ndjson"));
        let rates = dir.join("rates.csv");
        write_whole(&rates, |out| dashboards::write_rates(size, out))?;
        if fresh || !fleet.exists() {
            write_whole(&fleet, |out| fleet::write(size, out))?;
        }
        if fresh || !orders.exists() {
            eprintln!("writing {} orders", size.orders);
            write_whole(&orders, |out| {
                orders::write(size, out, |done| eprintln!("  {done} of {}", size.orders))
            })?;
        }
        Ok(Input { size: size.clone(), dir, fleet, rates, orders })
    }
}

/// Writes a file that appears only when it is complete.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let partial = path.with_extension("partial");
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&partial)?);
    fill(&mut out)?;
    out.into_inner()?.sync_all()?;
    fs::rename(&partial, path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_generated_once_or_on_request() {
        let root = tempfile::tempdir().unwrap();
        let size = Size { orders: 50, big_device_orders: 20, ..Size::small() };
        let input = Input::prepare(root.path(), &size, false).unwrap();
        assert_eq!(fs::read_to_string(&input.orders).unwrap().lines().count(), 50);
        fs::write(&input.orders, "kept").unwrap();
        Input::prepare(root.path(), &size, false).unwrap();
        assert_eq!(fs::read_to_string(&input.orders).unwrap(), "kept");
        Input::prepare(root.path(), &size, true).unwrap();
        assert_eq!(fs::read_to_string(&input.orders).unwrap().lines().count(), 50);
    }
}
