//! The bench: builds a fleet and a million orders, serves them, and prints the cost of each request
//! next to a bare server on the same stack. `cargo xtask bench` runs it on release builds.

mod background;
mod calls;
mod catalog;
mod changes;
mod client;
mod console;
mod dashboards;
mod disk;
mod engine;
mod fairness;
mod fleet;
mod growth;
mod imports;
mod ingest;
mod input;
mod kiosque;
mod latency;
mod limit;
mod load;
mod logins;
mod measure;
mod options;
mod orders;
mod report;
mod rounds;
mod run;
mod server_times;
mod slope;
mod spread;
mod start;
mod subject;
mod whole;

use clap::Parser;
use tokio::runtime::Runtime;

use crate::options::{CommandLine, Helper};

/// The limit is a server on the same stack as Kiosque, down to the memory allocator.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    let line = CommandLine::parse();
    match &line.helper {
        Some(Helper::LimitServer(options)) => limit::serve(options),
        None => {
            line.options.size.check()?;
            line.options.effort.check()?;
            let report = Runtime::new()?.block_on(whole::run(&line.options))?;
            print!("{}", report.table());
            match &line.options.json {
                Some(path) => report.write_json(path),
                None => Ok(()),
            }
        }
    }
}
