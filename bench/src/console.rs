//! Pages of the console while orders arrive: how long an answer takes, its size, and the time until
//! a browser has painted it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use kiosque_testkit::{Chromium, Key, Window, wait_until};

use crate::client::{Call, Client};
use crate::fleet::{device_code, group_id};
use crate::input::Input;
use crate::kiosque::Server;
use crate::load::{self, LoadResult, Pace, Workload};
use crate::options::Size;
use crate::orders::order_of_now;
use crate::report::{Aim, Row};
use crate::run::Run;
use crate::spread::Spread;
use crate::{imports, measure};

/// The number of users of the console; each opens a page about once a second.
pub(crate) const PEOPLE: usize = 20;
/// The pages that all of them open per second.
pub(crate) const PAGES_PER_SECOND: f64 = 20.0;
/// The pause between two orders that arrive.
const ORDER_PAUSE: Duration = Duration::from_millis(100);
/// The maximum time of 99 of 100 overviews, in ms.
const OVERVIEW_AIM: Aim = Aim::AtMost(50.0);
/// The maximum size of a page in bytes, and the maximum as sent.
const PAGE_AIM: Aim = Aim::AtMost(60_000.0);
const SENT_AIM: Aim = Aim::AtMost(15_000.0);
/// The time at which a browser has painted a page, in ms since it requested it.
const PAINTED: &str =
    "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null";

/// A kind of page: its name, the paths that are opened, and the maximum time in ms.
struct Pages {
    name: &'static str,
    paths: Vec<String>,
    aim: Option<Aim>,
}

/// Returns the kinds of pages. The last month of the orders is in the ranges, which end today.
fn pages(size: &Size) -> Vec<Pages> {
    let overview = "/console/?from=2026-10-01";
    let of_group = |group| format!("{overview}&group={}", group_id(group));
    let one = |path: &str| vec![path.to_owned()];
    let of = |name, paths, aim| Pages { name, paths, aim };
    let device = device_code(0);
    vec![
        of("overview of all groups", one(overview), Some(OVERVIEW_AIM)),
        of("overview of a group", (0..size.groups).map(of_group).collect(), Some(OVERVIEW_AIM)),
        of("list of devices", one("/console/devices"), None),
        of("a device", one(&format!("/console/devices/{device}")), None),
        of("orders of a device", one(&format!("/console/orders?device={device}")), None),
        of("latest orders", one("/console/orders"), None),
        of("intake", one("/console/intake"), None),
    ]
}

/// Measures the pages of a server on the data of `input`.
///
/// # Errors
/// Something cannot be run, or a page is not shown.
pub(crate) async fn run(run: &Run<'_>, input: &Input) -> anyhow::Result<Vec<Row>> {
    let size = &input.size;
    let effort = &run.options.effort;
    let kiosque = run.kiosque(input.dir.join("data-console"));
    let imported = imports::alone(&kiosque, input)?;
    run.engine.settle()?;
    let key = kiosque.operator_key("read,orders,activity");
    let server = kiosque.serve_ready()?;
    let client = server.operator()?;
    let cookie = client.sign_in(&key).await?;
    let mut users = Users { client: &client, cookie, key: &key, size, sold: 0 };
    let mut rows = Vec::new();
    for pages in pages(size) {
        let measure = async || users.open(&pages, effort.span()).await;
        let rounds = effort.each_round(pages.name, measure).await?;
        rows.push(Row::new(format!("console, {}", pages.name)).p99_of(&rounds, pages.aim));
        rows.extend(users.sizes(&pages).await?);
    }
    rows.extend(first_paint(&server, &key));
    rows.push(imported);
    kiosque.discard(server)?;
    Ok(rows)
}

/// The users of the console, and the devices that send orders meanwhile.
struct Users<'a> {
    client: &'a Client,
    cookie: String,
    key: &'a str,
    size: &'a Size,
    /// The orders that were sent.
    sold: usize,
}

impl Users<'_> {
    /// Opens pages at the pace of [`PEOPLE`], while orders arrive.
    async fn open(&mut self, pages: &Pages, span: Duration) -> anyhow::Result<LoadResult> {
        let calls = pages.paths.iter().map(|path| Call::page(path, &self.cookie));
        let workload = Workload::shared(PEOPLE, calls.collect::<anyhow::Result<_>>()?);
        let connections = self.client.connect_all(PEOPLE).await?;
        let opening = load::run(connections, &workload, span, Pace::Steady(PAGES_PER_SECOND));
        let (opened, ()) = tokio::try_join!(opening, self.sell(span))?;
        opened.1.all_good().context(pages.name)
    }

    /// Sends one order of now after the other, each of another device.
    async fn sell(&mut self, span: Duration) -> anyhow::Result<()> {
        let mut connection = self.client.connect().await?;
        let started = Instant::now();
        while started.elapsed() < span {
            let device = self.sold % self.size.devices;
            let line = order_of_now(&format!("console-{}", self.sold), device, self.size);
            connection.post(&Call::orders(self.key, line)?).await?;
            self.sold += 1;
            tokio::time::sleep(ORDER_PAUSE).await;
        }
        Ok(())
    }

    /// Returns the size of a page, and of its compressed form.
    async fn sizes(&self, pages: &Pages) -> anyhow::Result<Vec<Row>> {
        let mut connection = self.client.connect().await?;
        let path = pages.paths.first().context("no page")?;
        let mut rows = Vec::new();
        for (coding, name, aim) in [("identity", "size", PAGE_AIM), ("zstd", "sent size", SENT_AIM)]
        {
            let page = Call::page(path, &self.cookie)?.with("accept-encoding", coding)?;
            let body = connection.post(&page).await?;
            let name = format!("{name} of console, {}", pages.name);
            let bytes = Spread::of([measure::count(body.len())]);
            rows.push(Row::about(name, bytes, " bytes", Some(aim)));
        }
        Ok(rows)
    }
}

/// Measures the time until Chromium has painted the overview; adds no row without Chromium.
fn first_paint(server: &Server, key: &str) -> Option<Row> {
    let driver = Command::new("chromedriver").arg("--version").stdout(Stdio::null()).status();
    if driver.is_err() {
        eprintln!("chromedriver is missing: the first paint is not measured");
        return None;
    }
    let mut browser = Chromium::start();
    browser.show_as(Window { width: 1_280, height: 800, scale: 1 }, "light");
    let base = format!("https://{}/console/", server.operator_address());
    browser.open(&format!("{base}login"));
    browser.run("document.querySelector('[name=key]').focus()");
    browser.type_text(key);
    browser.press(Key::Enter);
    wait_until("the overview is shown", || browser.run("return location.pathname") == "/console/");
    let painted = (0..5).map(|_| {
        browser.open(&format!("{base}?from=2026-10-01"));
        wait_until("the overview is painted", || browser.run(PAINTED).is_number());
        browser.run(PAINTED).as_f64().unwrap_or_default()
    });
    Some(Row::about("first paint of the overview", Spread::of(painted), " ms", None))
}
