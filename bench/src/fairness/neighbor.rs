//! Tenant A: the loads during which tenant B is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use kiosque_contract::Endpoint;
use kiosque_contract::endpoint::{
    BestSellingProduct, DeviceAisle, DevicePage, OrderChanges, Summary,
};
use serde_json::json;
use tokio::runtime;

use super::data::{self, APPLIED, LARGE, Tokens, YEARS};
use crate::calls::device_page;
use crate::client::{Call, Client};
use crate::console::{PAGES_PER_SECOND, PEOPLE};
use crate::kiosque::Kiosque;
use crate::load::{self, LoadResult, Pace, Workload};
use crate::options::FairnessSize;
use crate::orders::LAST_TRADE;

/// Connections of tenant A.
const CONNECTIONS: usize = 8;
/// Records of a long page: the maximum page size.
const LONG_PAGE: usize = 1_000;
/// The interval at which the loop of calls checks whether to end.
const TURN: Duration = Duration::from_millis(250);
/// The same for the console, in which each person opens a page.
const CONSOLE_TURN: Duration = Duration::from_secs(1);

/// A load of tenant A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    BestSellers,
    Summary,
    DevicePages,
    LongDevicePages,
    LongChanges,
    Aisles,
    LatestOrders,
    Apply,
    Unread,
    Console,
    OrderLists,
    Refill,
    Search,
}

impl Load {
    /// Every load, with its name.
    pub(super) const ALL: [(Load, &'static str); 13] = [
        (Load::BestSellers, "best sellers of years"),
        (Load::Summary, "summaries of a large group"),
        (Load::DevicePages, "device pages of a large group"),
        (Load::LongDevicePages, "pages of 1,000 devices"),
        (Load::LongChanges, "1,000 order changes at a time"),
        (Load::Aisles, "aisles of a large group"),
        (Load::LatestOrders, "the latest of many orders"),
        (Load::Apply, "an apply of many devices"),
        (Load::Unread, "unread aisles of a large group"),
        (Load::Console, "20 operators in the console"),
        (Load::OrderLists, "the operator's lists of orders by state"),
        (Load::Refill, "the operator's lists of aisles to refill"),
        (Load::Search, "the operator's searches"),
    ];

    /// The calls of a load that consists of calls.
    fn calls(self, tokens: &Tokens, size: &FairnessSize) -> anyhow::Result<Vec<Call>> {
        let token = Some(tokens.a.as_str());
        let pages = |paths: &[String]| {
            let page = |path: &String| Call::page(path, &tokens.console, None);
            paths.iter().map(page).collect::<anyhow::Result<_>>()
        };
        Ok(match self {
            Load::BestSellers => {
                let years = data::last_days(size.sales_years * 365, Some(YEARS))?;
                vec![Call::new(BestSellingProduct::PATH, token, years)?]
            }
            Load::Summary => vec![Call::new(Summary::PATH, token, "{}".to_owned())?],
            Load::DevicePages => {
                let pages = size.large_group.div_ceil(10);
                let page = |step: usize| device_page((pages * step / 16).max(1), &tokens.a);
                (1..=16).map(page).collect::<anyhow::Result<_>>()?
            }
            Load::LongDevicePages => {
                let path = format!("{}?size={LONG_PAGE}", DevicePage::PATH);
                vec![Call::new(&path, token, "{}".to_owned())?]
            }
            Load::LongChanges => {
                let size = json!({ "size": LONG_PAGE }).to_string();
                vec![Call::new(OrderChanges::PATH, token, size)?]
            }
            Load::Aisles | Load::Unread => {
                vec![Call::new(DeviceAisle::PATH, token, "{}".to_owned())?]
            }
            Load::LatestOrders => {
                let since = (LAST_TRADE - 600) * 1_000;
                vec![data::order_list(&tokens.a, &data::device_code(LARGE, 0), Some(since))?]
            }
            Load::Apply => Vec::new(),
            Load::Console => {
                let device = data::device_code(LARGE, 0);
                pages(&[
                    "/console/".to_owned(),
                    format!("/console/?group={LARGE}"),
                    format!("/console/?days=364&group={YEARS}"),
                    "/console/devices".to_owned(),
                    format!("/console/devices/{device}"),
                    format!("/console/orders?device={device}"),
                    "/console/integrators".to_owned(),
                    "/console/intake".to_owned(),
                    "/console/service".to_owned(),
                ])?
            }
            Load::OrderLists => pages(&[
                "/console/orders?shipment=success".to_owned(),
                "/console/orders?payment=refunding".to_owned(),
                format!("/console/orders?payment=paid&group={YEARS}"),
            ])?,
            Load::Refill => {
                pages(&["/console/refill".to_owned(), format!("/console/refill?group={LARGE}")])?
            }
            Load::Search => pages(&[
                "/console/search?q=Kiosk".to_owned(),
                "/console/search?q=Kiosk%201".to_owned(),
            ])?,
        })
    }
}

/// A running load, on a separate thread, until it is stopped.
pub(super) struct Neighbor {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<(usize, usize)>>,
}

impl Neighbor {
    /// Starts a load.
    ///
    /// # Errors
    /// A call cannot be sent, or an answer does not begin.
    pub(super) fn start(
        load: Load,
        (kiosque, client, operator): (&Kiosque, &Client, &Client),
        (tokens, size): (&Tokens, &FairnessSize),
    ) -> anyhow::Result<Neighbor> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopping, calls) = (Arc::clone(&stop), load.calls(tokens, size)?);
        let (kiosque, client, size) = (kiosque.clone(), client.clone(), size.clone());
        let operator = operator.clone();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
            // Unread answers have begun when all of them are requested.
            if load != Load::Unread {
                begun.send(())?;
            }
            match load {
                Load::Apply => apply(&kiosque, &size, &stopping),
                Load::Unread => runtime.block_on(async {
                    let mut answers = Vec::new();
                    let count = size.unread_answers;
                    for call in calls.iter().cycle().take(count) {
                        answers.push(client.connect_small().await?.begin(call).await?);
                    }
                    begun.send(())?;
                    while !stopping.load(Ordering::Acquire) {
                        tokio::time::sleep(TURN).await;
                    }
                    Ok((answers.len(), 0))
                }),
                Load::Console => {
                    let people = Workload::shared(PEOPLE, calls);
                    let pace = Pace::Steady(PAGES_PER_SECOND);
                    runtime.block_on(ask(&operator, (&people, pace), &stopping))
                }
                _ => {
                    let client = match load {
                        Load::OrderLists | Load::Refill | Load::Search => operator,
                        // The histograms of the server only count HTTP/1.1, so the one of order
                        // pages remains tenant B's.
                        Load::LatestOrders => client.over_http2(),
                        _ => client,
                    };
                    let workload = Workload::shared(CONNECTIONS, calls);
                    runtime.block_on(ask(&client, (&workload, Pace::Closed), &stopping))
                }
            }
        });
        // An error means that the thread has ended, which `stop` reports.
        let _ = has_begun.recv();
        Ok(Neighbor { stop, thread })
    }

    /// Ends the load; returns the numbers of its answers and of its failures.
    ///
    /// # Errors
    /// It could not be run.
    pub(super) fn stop(self) -> anyhow::Result<(usize, usize)> {
        self.stop.store(true, Ordering::Release);
        self.thread.join().map_err(|_| anyhow::anyhow!("the load of tenant A panicked"))?
    }
}

/// Repeats calls on several connections.
async fn ask(
    client: &Client,
    (workload, pace): (&Workload, Pace),
    stop: &AtomicBool,
) -> anyhow::Result<(usize, usize)> {
    let turn = match pace {
        Pace::Closed => TURN,
        Pace::Steady(_) => CONSOLE_TURN,
    };
    let mut all = LoadResult::default();
    let mut connections = Vec::new();
    while !stop.load(Ordering::Acquire) {
        while connections.len() < workload.workers() {
            connections.push(client.connect().await?);
        }
        let outcome;
        (connections, outcome) = load::run(connections, workload, turn, pace).await?;
        connections.retain(|connection| !connection.is_closed());
        all.merge(outcome);
    }
    Ok((all.latencies.len(), all.failed))
}

/// Applies a fleet repeatedly, each time with another name for every device.
fn apply(
    kiosque: &Kiosque,
    size: &FairnessSize,
    stop: &AtomicBool,
) -> anyhow::Result<(usize, usize)> {
    let file = kiosque.file_next_to("applied.json");
    let mut applies = 0;
    while !stop.load(Ordering::Acquire) {
        let name = format!("Kiosk of apply {applies}");
        let devices = data::devices(APPLIED, size.applied_devices, &name);
        std::fs::write(&file, json!({ "device": devices }).to_string())?;
        kiosque.apply(&file)?;
        applies += 1;
    }
    Ok((applies, 0))
}
