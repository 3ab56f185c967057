//! Tenant A: the loads during which tenant B is measured.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use http::Response;
use hyper::body::Incoming;
use kiosque_contract::endpoint::{
    BestSellingProduct, DeviceAisle, DevicePage, OrderChanges, Summary,
};
use kiosque_contract::{DashboardFilter, Endpoint};
use serde_json::json;

use super::data::{self, APPLIED, LARGE, Tokens, YEARS};
use crate::background::Background;
use crate::calls::device_page;
use crate::client::{Call, Client};
use crate::console::{PAGES_PER_SECOND, PEOPLE};
use crate::kiosque::Kiosque;
use crate::load::{LoadResult, Pace, Workload};
use crate::options::FairnessSize;
use crate::orders::LAST_TRADE;

/// Connections of tenant A.
const CONNECTIONS: usize = 8;
/// Records of a long page: the maximum page size.
const LONG_PAGE: usize = 1_000;

/// A load of tenant A.
pub(super) struct Load {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

/// The way in which a load is made.
#[derive(Clone)]
pub(super) enum Kind {
    /// Repeats calls at a pace, each worker with a connection of this client.
    Repeated(Client, Workload, Pace),
    /// Makes a call whose answers are not read.
    Unread(Call),
    /// Applies a fleet repeatedly.
    Apply,
}

/// Returns every load.
///
/// # Errors
/// When a call cannot travel.
pub(super) fn loads(
    client: &Client,
    operator: &Client,
    tokens: &Tokens,
    size: &FairnessSize,
) -> anyhow::Result<Vec<Load>> {
    let token = Some(tokens.a.as_str());
    let any = |path: &str| Call::new(path, token, &json!({}));
    let pages = |paths: &[&str]| {
        let page = |path: &&str| Call::page(path, &tokens.console);
        paths.iter().map(page).collect::<anyhow::Result<Vec<_>>>()
    };
    let years = DashboardFilter {
        group_id: Some(YEARS.to_owned()),
        ..data::last_days(i64::try_from(size.sales_years * 365)?)
    };
    let last_page = size.large_group.div_ceil(10);
    let step_page = |step: usize| device_page((last_page * step / 16).max(1), &tokens.a);
    let device_pages = (1..=16).map(step_page).collect::<anyhow::Result<Vec<_>>>()?;
    let device = data::device_code(LARGE, 0);
    let console = pages(&[
        "/console/",
        &format!("/console/?group={LARGE}"),
        &format!("/console/?days=364&group={YEARS}"),
        "/console/devices",
        &format!("/console/devices/{device}"),
        &format!("/console/orders?device={device}"),
        "/console/integrators",
        "/console/intake",
        "/console/service",
    ])?;
    let orders = pages(&[
        "/console/orders?shipment=success",
        "/console/orders?payment=refunding",
        &format!("/console/orders?payment=paid&group={YEARS}"),
    ])?;
    let refill = pages(&["/console/refill", &format!("/console/refill?group={LARGE}")])?;
    let search = pages(&["/console/search?q=Kiosk", "/console/search?q=osk%201"])?;
    let best = Call::new(BestSellingProduct::PATH, token, &years)?;
    let long_pages = any(&format!("{}?size={LONG_PAGE}", DevicePage::PATH))?;
    let long_changes = Call::new(OrderChanges::PATH, token, &json!({ "size": LONG_PAGE }))?;
    let since = Some((LAST_TRADE - 600) * 1_000);
    let latest = data::order_list(&tokens.a, &device, since)?;

    let at_once = |client: &Client, calls| {
        let workload = Workload::shared(CONNECTIONS, calls);
        Kind::Repeated(client.clone(), workload, Pace::Closed)
    };
    // The histograms of the server only count HTTP/1.1, so the one of order pages remains
    // tenant B's.
    let latest = at_once(&client.over_http2(), vec![latest]);
    let people = Workload::shared(PEOPLE, console);
    let people = Kind::Repeated(operator.clone(), people, Pace::Steady(PAGES_PER_SECOND));
    let of_tenant = |calls| at_once(client, calls);
    let of_operator = |calls| at_once(operator, calls);
    let load = |name, kind| Load { name, kind };
    Ok(vec![
        load("best sellers of years", of_tenant(vec![best])),
        load("summaries of a large group", of_tenant(vec![any(Summary::PATH)?])),
        load("device pages of a large group", of_tenant(device_pages)),
        load("pages of 1,000 devices", of_tenant(vec![long_pages])),
        load("1,000 order changes at a time", of_tenant(vec![long_changes])),
        load("aisles of a large group", of_tenant(vec![any(DeviceAisle::PATH)?])),
        load("the latest of many orders", latest),
        load("an apply of many devices", Kind::Apply),
        load("unread aisles of a large group", Kind::Unread(any(DeviceAisle::PATH)?)),
        load("20 operators in the console", people),
        load("the operator's lists of orders by state", of_operator(orders)),
        load("the operator's lists of aisles to refill", of_operator(refill)),
        load("the operator's searches", of_operator(search)),
    ])
}

/// A running load, until it is stopped.
pub(super) enum Neighbor {
    Running(Background),
    Unread(Vec<Response<Incoming>>),
}

impl Neighbor {
    /// Starts a load; unread answers have begun when all of them are requested.
    ///
    /// # Errors
    /// An answer does not begin.
    pub(super) async fn start(
        load: &Load,
        kiosque: &Kiosque,
        client: &Client,
        size: &FairnessSize,
    ) -> anyhow::Result<Neighbor> {
        Ok(match load.kind.clone() {
            Kind::Apply => {
                let (kiosque, size) = (kiosque.clone(), size.clone());
                Neighbor::Running(Background::start(move |stop| apply(&kiosque, &size, stop)))
            }
            Kind::Unread(call) => {
                let mut answers = Vec::new();
                for _ in 0..size.unread_answers {
                    answers.push(client.connect_small().await?.begin(&call).await?);
                }
                Neighbor::Unread(answers)
            }
            Kind::Repeated(client, workload, pace) => {
                Neighbor::Running(Background::calls(client, workload, pace))
            }
        })
    }

    /// Ends the load; returns the numbers of its answers and of its failures.
    ///
    /// # Errors
    /// It could not be run.
    pub(super) fn stop(self) -> anyhow::Result<(usize, usize)> {
        match self {
            Neighbor::Running(load) => load.stop().map(|all| (all.latencies.len(), all.failed)),
            Neighbor::Unread(answers) => Ok((answers.len(), 0)),
        }
    }
}

/// Applies a fleet repeatedly, each time with another name for every device.
fn apply(kiosque: &Kiosque, size: &FairnessSize, stop: &AtomicBool) -> anyhow::Result<LoadResult> {
    let file = kiosque.file_next_to("applied.json");
    let mut applies = LoadResult::default();
    while !stop.load(Ordering::Acquire) {
        let begun = Instant::now();
        let name = format!("Kiosk of apply {}", applies.latencies.len());
        let devices = data::devices(APPLIED, size.applied_devices, &name);
        std::fs::write(&file, json!({ "device": devices }).to_string())?;
        kiosque.run(&["apply"], &file);
        applies.latencies.note(begun.elapsed());
    }
    Ok(applies)
}
