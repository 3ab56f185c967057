//! A load in the background, on a separate thread: the caller measures meanwhile on others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::anyhow;
use tokio::runtime;

use crate::client::Client;
use crate::load::{self, LoadResult, Pace, Workload};

/// The interval at which repeated calls check whether to end.
const TURN: Duration = Duration::from_secs(1);

/// A running load, until it is stopped.
pub(crate) struct Background {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<LoadResult>>,
}

impl Background {
    /// Starts a load that ends when its argument is true.
    pub(crate) fn start(
        load: impl FnOnce(&AtomicBool) -> anyhow::Result<LoadResult> + Send + 'static,
    ) -> Background {
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        Background { stop, thread: std::thread::spawn(move || load(&stopping)) }
    }

    /// Starts to repeat calls at a pace, each worker with a connection.
    pub(crate) fn calls(client: Client, workload: Workload, pace: Pace) -> Background {
        Background::start(move |stop| {
            let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(repeat(&client, &workload, pace, stop))
        })
    }

    /// Ends the load; returns its answers.
    ///
    /// # Errors
    /// It could not be run.
    pub(crate) fn stop(self) -> anyhow::Result<LoadResult> {
        self.stop.store(true, Ordering::Release);
        self.thread.join().map_err(|_| anyhow!("a load in the background panicked"))?
    }
}

async fn repeat(
    client: &Client,
    workload: &Workload,
    pace: Pace,
    stop: &AtomicBool,
) -> anyhow::Result<LoadResult> {
    let mut all = LoadResult::default();
    let mut connections = Vec::new();
    while !stop.load(Ordering::Acquire) {
        while connections.len() < workload.workers() {
            connections.push(client.connect().await?);
        }
        let outcome;
        (connections, outcome) = load::run(connections, workload, TURN, pace).await?;
        connections.retain(|connection| !connection.is_closed());
        all.merge(outcome);
    }
    Ok(all)
}
