//! Command line of the bench.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::engine::Store;

/// The minimum number of devices with which the console is measured.
const CONSOLE_DEVICES: usize = 3_000;

/// The bench's command line.
#[derive(Debug, Parser)]
#[command(
    name = "kiosque-bench",
    about = "Measures Kiosque and a bare server on the same stack; the table goes to stdout",
    args_conflicts_with_subcommands = true
)]
pub(crate) struct CommandLine {
    /// The bench itself.
    #[command(flatten)]
    pub(crate) options: Options,
    /// Child processes of the bench.
    #[command(subcommand)]
    pub(crate) helper: Option<Helper>,
}

/// Programs that the bench starts as separate processes.
#[derive(Debug, Subcommand)]
pub(crate) enum Helper {
    /// The bare server with which every cost is compared; stops when its stdin ends.
    #[command(hide = true)]
    LimitServer(LimitServer),
}

/// Arguments of the limit server.
#[derive(Args, Debug)]
pub(crate) struct LimitServer {
    /// The directory of its certificate and key, and of the body of every answer.
    pub(crate) dir: PathBuf,
    /// Where to listen.
    pub(crate) listen: SocketAddr,
}

/// Options of the bench.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The data set.
    #[command(flatten)]
    pub(crate) size: Size,
    /// How long and how often.
    #[command(flatten)]
    pub(crate) effort: Effort,
    /// The storage engine
    #[arg(long, value_enum, default_value = "sqlite")]
    pub(crate) store: Store,
    /// The program to measure [default: `kiosque` in the directory of this program]
    #[arg(long, value_name = "PATH")]
    pub(crate) kiosque: Option<PathBuf>,
    /// Directory for generated files and data [default: `bench` in the target directory]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Also write all figures to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// The figures (--json) of a run with fewer orders: adds the log-log slope of each cost
    #[arg(long, value_name = "FILE")]
    pub(crate) slope_from: Option<PathBuf>,
    /// Which part to run
    #[command(flatten)]
    pub(crate) part: Part,
    /// The data set of the fairness part, and of growth
    #[command(flatten)]
    pub(crate) fairness: FairnessSize,
}

/// Parts to leave out or to generate again.
#[derive(Args, Debug)]
pub(crate) struct Part {
    /// Generate the input files again, even if they are there
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Serve the data of the last run unchanged; no import is measured
    #[arg(long)]
    pub(crate) reuse_data: bool,
    /// Leave out the second import, during which accounts log in
    #[arg(long)]
    pub(crate) one_import: bool,
    /// Measure the dashboards and the limit only
    #[arg(long)]
    pub(crate) dashboards_only: bool,
    /// Only measure orders that arrive over the operator's listener
    #[arg(long)]
    pub(crate) ingest_only: bool,
    /// Only measure the limit server, with a generated page of 8,500 bytes
    #[arg(long)]
    pub(crate) limit_only: bool,
    /// Only measure the cost of one tenant's load for another; the sizes are those that begin with
    /// --fair
    #[arg(long)]
    pub(crate) fairness: bool,
    /// Only measure how costs grow with the devices of a group; the largest group and the orders of
    /// one device are --fair-devices and --fair-orders
    #[arg(long, conflicts_with = "fairness")]
    pub(crate) growth: bool,
    /// Only measure pages of the console, on at least 3,000 devices
    #[arg(long, conflicts_with_all = ["fairness", "growth"])]
    pub(crate) console: bool,
    /// Only measure the change feed: how soon it has a change, and its cost for the stream
    #[arg(long, conflicts_with_all = ["fairness", "growth", "console"])]
    pub(crate) changes: bool,
}

/// Size of the data of the fairness part.
#[derive(Args, Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FairnessSize {
    /// Devices of tenant A's large group
    #[arg(long = "fair-devices", default_value_t = 20_000)]
    pub(crate) large_group: usize,
    /// Orders of one device of that group
    #[arg(long = "fair-orders", default_value_t = 400_000)]
    pub(crate) large_device_orders: usize,
    /// Years in which 50 devices of tenant A sell ten products a day
    #[arg(long = "fair-years", default_value_t = 10)]
    pub(crate) sales_years: usize,
    /// Devices of each apply
    #[arg(long = "fair-applied", default_value_t = 6_000)]
    pub(crate) applied_devices: usize,
    /// Answers that tenant A does not read
    #[arg(long = "fair-unread", default_value_t = 25)]
    pub(crate) unread_answers: usize,
}

/// Size of the data set; determines the input files.
#[derive(Args, Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Size {
    /// Orders in all
    #[arg(long, default_value_t = 1_000_000)]
    pub(crate) orders: u64,
    /// Total number of devices, distributed evenly over the groups
    #[arg(long, default_value_t = 1_000)]
    pub(crate) devices: usize,
    /// Groups
    #[arg(long, default_value_t = 20)]
    pub(crate) groups: usize,
    /// Orders of the one big device
    #[arg(long, default_value_t = 100_000)]
    pub(crate) big_device_orders: u64,
    /// Years over which the orders are spread; the last one always ends with October 2026
    #[arg(long, default_value_t = 1)]
    pub(crate) years: u32,
    /// The products that the devices of a group sell
    #[arg(long, value_enum, default_value = "aisles")]
    pub(crate) goods: Goods,
    /// Another seed makes other orders
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// The products that are sold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, ValueEnum)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Goods {
    /// Each device those in its 40 aisles; groups trade in three currencies
    Aisles,
    /// Each device any of 400 products; all groups trade in one currency
    Any,
}

impl Options {
    /// The size of the data set of the parts that are run.
    pub(crate) fn size(&self) -> Size {
        let least = if self.part.console { CONSOLE_DEVICES } else { 0 };
        Size { devices: self.size.devices.max(least), ..self.size.clone() }
    }
}

impl Size {
    /// Refuses sizes that leave a scenario without calls.
    ///
    /// # Errors
    /// The error says which size is too small or too large.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(self.groups >= 1, "--groups: at least 1");
        ensure!(self.devices >= 2 * self.groups, "--devices: at least 2 for each group");
        ensure!((1..=50).contains(&self.years), "--years: from 1 to 50");
        ensure!(
            (20..=self.orders).contains(&self.big_device_orders),
            "--big-device-orders: from 20 to --orders"
        );
        Ok(())
    }

    /// A page of 10 in the middle of the big device: 5,000 of 10,000.
    pub(crate) const fn deep_page(&self) -> u64 {
        self.big_device_orders / 20
    }

    /// Returns a directory name that differs when the input files do.
    pub(crate) fn directory(&self) -> String {
        format!(
            "{}-orders-{}-devices-{}-groups-{}-big-{}-years-{:?}-seed-{}",
            self.orders,
            self.devices,
            self.groups,
            self.big_device_orders,
            self.years,
            self.goods,
            self.seed
        )
    }

    /// A size for tests.
    #[cfg(test)]
    pub(crate) const fn small() -> Size {
        Size {
            orders: 2_000,
            devices: 12,
            groups: 3,
            big_device_orders: 500,
            years: 1,
            goods: Goods::Aisles,
            seed: 1,
        }
    }
}

/// How long and how intensively to measure.
#[derive(Args, Clone, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Effort {
    /// Rounds of each scenario; the median counts
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
    /// Seconds of each scenario in a round
    #[arg(long, default_value_t = 3.0)]
    pub(crate) seconds: f64,
    /// Connections of the closed loop
    #[arg(long, default_value_t = 16)]
    pub(crate) connections: usize,
    /// Order pages a second while logins run
    #[arg(long, default_value_t = 500.0)]
    pub(crate) page_rate: f64,
}

impl Effort {
    /// How long a scenario runs in a round.
    pub(crate) fn span(&self) -> Duration {
        Duration::from_secs_f64(self.seconds.clamp(0.1, 3_600.0))
    }

    /// Runs every round, and prints its number and what it measures; returns the measurements.
    ///
    /// # Errors
    /// Those of the first round that fails.
    pub(crate) async fn each_round<T>(
        &self,
        what: &str,
        mut measure: impl AsyncFnMut() -> anyhow::Result<T>,
    ) -> anyhow::Result<Vec<T>> {
        let mut measured = Vec::new();
        for round in 1..=self.rounds {
            eprintln!("round {round}: {what}");
            measured.push(measure().await?);
        }
        Ok(measured)
    }

    /// Refuses an effort that measures nothing.
    ///
    /// # Errors
    /// The error says which option is too small.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(self.rounds >= 1, "--rounds: at least 1");
        ensure!(self.connections >= 1, "--connections: at least 1");
        ensure!(self.page_rate > 0.0, "--page-rate: more than 0");
        ensure!(self.seconds > 0.0, "--seconds: more than 0");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        CommandLine::command().debug_assert();
        let line = CommandLine::parse_from(["kiosque-bench", "--orders", "5", "--rounds", "2"]);
        assert_eq!((line.options.size.orders, line.options.effort.rounds), (5, 2));
    }

    #[test]
    fn a_size_without_requests_is_refused() {
        let good = Size::small();
        assert!(good.check().is_ok());
        assert!(Size { devices: 5, ..good.clone() }.check().is_err());
        assert!(Size { big_device_orders: 2_001, ..good }.check().is_err());
        let asked = Size { big_device_orders: 100_000, ..Size::small() };
        assert_eq!(asked.deep_page(), 5_000);
    }
}
