//! How costs grow with the devices of a group, with the orders of a device, and for a group that is
//! not the caller's.

mod data;
mod foreign;
mod scenario;

use std::path::Path;

use anyhow::Context;

use crate::calls::login;
use crate::client::Client;
use crate::engine::Engine;
use crate::fairness::data::{device_code, order_list};
use crate::kiosque::Server;
use crate::load::Workload;
use crate::measure;
use crate::options::Effort;
use crate::orders::LAST_TRADE;
use crate::report::{Aim, Figure, Row};
use crate::rounds::{self, Sample, Sending, sampled};
use crate::run::Run;
use crate::slope;
use crate::spread::Spread;
use crate::subject::Subject;
use data::{BUSY, Group};
use scenario::{CONNECTIONS, Growth, Scenario};

/// A list may cost this many times as much as sending its bytes.
const SENDING_AIM: f64 = 3.0;
/// A list of the last ten minutes may cost this many times as much as a page.
const RECENT_AIM: Aim = Aim::AtMost(3.0);

/// Measures everything on separate data.
///
/// # Errors
/// Something cannot be run or is answered wrongly.
pub(crate) async fn run(run: &Run<'_>) -> anyhow::Result<Vec<Row>> {
    let size = &run.options.fairness;
    let groups = data::groups(size);
    let files = data::prepare(&run.dir, &groups, size)?;
    let kiosque = run.kiosque(run.dir.join("data-growth"));
    eprintln!("applying {}, importing {}", files.fleet.display(), files.orders.display());
    kiosque.begin_with(&files.fleet)?;
    kiosque.import_orders(&files.orders)?;
    run.engine.settle()?;
    let server = kiosque.serve_ready(&login(BUSY)?).await?;
    let client = server.client()?;
    let mut of_groups = Vec::new();
    for group in &groups {
        of_groups.push((group, data::token(&client, &group.name).await?));
    }
    let measuring = Measuring {
        client: &client,
        server: &server,
        engine: &run.engine,
        dir: &run.dir,
        effort: &run.options.effort,
    };
    let mut rows = measuring.growth(&of_groups).await?;
    rows.extend(measuring.busy_device(groups.last().context("no group")?).await?);
    kiosque.discard(server)?;
    Ok(rows)
}

/// A server with the data.
struct Measuring<'a> {
    client: &'a Client,
    server: &'a Server,
    engine: &'a Engine,
    dir: &'a Path,
    effort: &'a Effort,
}

/// A scenario for one of the groups, and all measurements.
struct Measured {
    devices: usize,
    workload: Workload,
    /// A bare server that sends the same bytes.
    sending: Option<Sending>,
    ours: Vec<Sample>,
    bare: Vec<Sample>,
}

impl Measuring<'_> {
    async fn growth(&self, groups: &[(&Group, String)]) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for scenario in scenario::all() {
            let mut measured = Vec::new();
            for (group, token) in groups {
                let prepared = self.prepared(&scenario, group, token).await;
                measured.push(prepared.context(scenario.name)?);
            }
            for round in 1..=self.effort.rounds {
                for of_group in &mut measured {
                    self.round(of_group).await.context(scenario.name)?;
                    let cpu = of_group.ours.last().map_or(0.0, |sample| sample.cpu_micros);
                    let devices = of_group.devices;
                    eprintln!("round {round}: {}, {devices} devices: {cpu:.1} us", scenario.name);
                }
            }
            rows.extend(measured.iter().map(|of_group| of_group.row(scenario.name)));
            if scenario.growth == Growth::None {
                rows.push(slope_row(scenario.name, &measured));
            }
            for sending in measured.into_iter().filter_map(|of_group| of_group.sending) {
                sending.limit.process.stop()?;
            }
        }
        Ok(rows)
    }

    async fn prepared(
        &self,
        scenario: &Scenario,
        group: &Group,
        token: &str,
    ) -> anyhow::Result<Measured> {
        let workload = Workload::shared(CONNECTIONS, (scenario.calls)(group, token)?);
        let sending = match scenario.growth {
            Growth::None => None,
            Growth::WithAnswer => {
                let dir = self.dir.join(format!("limit-{}", group.name));
                Some(Sending::start(self.client, &workload, &dir).await?)
            }
        };
        let (ours, bare) = (Vec::new(), Vec::new());
        Ok(Measured { devices: group.devices, workload, sending, ours, bare })
    }

    async fn round(&self, measured: &mut Measured) -> anyhow::Result<()> {
        let Measured { workload, sending, ours, bare, .. } = measured;
        if let Some(Sending { limit, .. }) = sending {
            bare.push(rounds::sample_limit(limit, workload, self.effort.span()).await?);
        }
        ours.push(self.sample(workload).await?);
        Ok(())
    }

    async fn sample(&self, workload: &Workload) -> anyhow::Result<Sample> {
        let pid = self.server.process.pid();
        let subject = Subject { client: self.client, pid, engine: Some(self.engine) };
        rounds::sample(&subject, workload, self.effort.span()).await
    }

    /// The device with many orders, and a group that does not own it.
    async fn busy_device(&self, largest: &Group) -> anyhow::Result<Vec<Row>> {
        let token = data::token(self.client, BUSY).await?;
        let list = |since| {
            let call = order_list(&token, &device_code(BUSY, 0), since)?;
            anyhow::Ok(Workload::shared(CONNECTIONS, vec![call]))
        };
        let (page, recent) = (list(None)?, list(Some((LAST_TRADE - 600) * 1_000))?);
        let mut both = Vec::new();
        for _ in 0..self.effort.rounds {
            both.push((self.sample(&page).await?, self.sample(&recent).await?));
        }
        let mut rows = vec![recent_row(&both)];
        rows.extend(foreign::rows(self.client, &token, largest, self.effort).await?);
        Ok(rows)
    }
}

impl Measured {
    fn row(&self, name: &str) -> Row {
        let mut row = sampled(format!("{name}, {} devices", self.devices), self.ours.iter());
        let Some(Sending { bytes, .. }) = self.sending else { return row };
        let both = self.ours.iter().zip(&self.bare);
        let times = Spread::of(both.map(|(ours, bare)| ours.cpu_micros / bare.cpu_micros));
        row.times_limit = Some(times);
        row.figure = Some(Figure::new(times, " × sending", Some(Aim::AtMost(SENDING_AIM))));
        let bare = Spread::of(self.bare.iter().map(|sample| sample.cpu_micros)).median;
        row.note = format!("{bytes} bytes, which the limit server sends for {bare:.1} us of CPU");
        row
    }
}

fn slope_row(name: &str, measured: &[Measured]) -> Row {
    let rounds = measured.first().map_or(0, |first| first.ours.len());
    let slopes = Spread::of((0..rounds).map(|round| {
        let point = |of_group: &Measured| {
            let cost = of_group.ours.get(round).map_or(f64::NAN, |sample| sample.cpu_micros);
            (measure::count(of_group.devices), cost)
        };
        slope::of(&measured.iter().map(point).collect::<Vec<_>>())
    }));
    let note =
        format!("with the devices of a group; rounds {:.3} to {:.3}", slopes.min, slopes.max);
    slope::row(name, slopes, note)
}

fn recent_row(both: &[(Sample, Sample)]) -> Row {
    let times = Spread::of(both.iter().map(|(page, recent)| recent.cpu_micros / page.cpu_micros));
    let name = "orders of the last ten minutes";
    let mut row = Row::about(name, times, " × a page", Some(RECENT_AIM));
    row.cpu_micros = Some(Spread::of(both.iter().map(|(_, recent)| recent.cpu_micros)));
    let p50 = |sample: &Sample| sample.answered.latencies.percentile(50);
    let (page_p50, recent_p50) = (
        Spread::of(both.iter().map(|(page, _)| p50(page))).median,
        Spread::of(both.iter().map(|(_, recent)| p50(recent))).median,
    );
    let page = Spread::of(both.iter().map(|(page, _)| page.cpu_micros));
    row.note = format!(
        "of the device with many orders; its first page takes {}; p50 {page_p50:.0} and \
         {recent_p50:.0} us; ratios {:.2}–{:.2}",
        page.shown(1, " us of CPU"),
        times.min,
        times.max
    );
    row
}
