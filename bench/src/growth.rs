//! How costs grow with the devices of a group, with the orders of a device, and for a group that is
//! not the caller's.

mod data;
mod foreign;
mod scenario;

use anyhow::{Context, ensure};

use crate::calls::log_in;
use crate::fairness::data::{device_code, order_list};
use crate::limit::Limit;
use crate::load::Workload;
use crate::measure;
use crate::orders::LAST_TRADE;
use crate::report::{Aim, Row};
use crate::rounds::{self, Against, Measured, Sample, Scenario};
use crate::run::Run;
use crate::slope;
use crate::spread::Spread;
use crate::subject::Subject;
use data::{BUSY, Group};
use scenario::CONNECTIONS;

/// A list of the last ten minutes may cost this many times as much as a page.
const RECENT_AIM: Aim = Aim::AtMost(3.0);

/// Measures everything on separate data.
///
/// # Errors
/// Something cannot be run or is answered wrongly.
pub(crate) async fn run(run: &Run<'_>) -> anyhow::Result<Vec<Row>> {
    let size = &run.options.fairness;
    let groups = data::groups(size);
    ensure!(size.large_group >= 4_000, "--fair-devices: at least 4000 to measure growth");
    let fleet = data::fleet(&groups);
    let kiosque = run.filled("growth", &fleet, |out| data::write_orders(&groups, size, out))?;
    let server = kiosque.serve_ready()?;
    let client = server.client()?;
    let subject =
        Subject { client: &client, pid: server.process.process(), engine: Some(&run.engine) };
    let mut rows = reads(run, &subject, &groups).await?;
    rows.extend(busy_device(run, &subject, groups.last().context("no group")?).await?);
    kiosque.discard(server)?;
    Ok(rows)
}

/// Measures each read of each group, and how its cost grows with the groups.
async fn reads(run: &Run<'_>, subject: &Subject<'_>, groups: &[Group]) -> anyhow::Result<Vec<Row>> {
    let reads = scenario::all();
    let mut connection = subject.client.connect().await?;
    let mut tokens = Vec::new();
    for group in groups {
        tokens.push(log_in(&mut connection, &group.name, &group.name).await?);
    }
    let mut scenarios = Vec::new();
    for read in &reads {
        for (group, token) in groups.iter().zip(&tokens) {
            let name = format!("{}, {} devices", read.name, group.devices);
            let workload = Workload::shared(CONNECTIONS, (read.calls)(group, token)?);
            scenarios.push(Scenario::new(name, workload, read.against));
        }
    }
    let dir = run.dir.join("limit");
    let first = scenarios.first().context("no scenario")?;
    let limit = Limit::like(subject.client, first.workload(), &dir).await?;
    let effort = &run.options.effort;
    let measured = rounds::measure(subject, &limit, &dir, &scenarios, effort).await?;
    let mut rows = rounds::rows(&scenarios, &measured);
    for (read, of_groups) in reads.iter().zip(measured.chunks(groups.len())) {
        if read.against == Against::Nothing {
            rows.push(slope_row(read.name, groups, of_groups));
        }
    }
    Ok(rows)
}

/// The device with many orders, and a group that does not own it.
async fn busy_device(
    run: &Run<'_>,
    subject: &Subject<'_>,
    largest: &Group,
) -> anyhow::Result<Vec<Row>> {
    let effort = &run.options.effort;
    let token = log_in(&mut subject.client.connect().await?, BUSY, BUSY).await?;
    let list = |since| {
        let call = order_list(&token, &device_code(BUSY, 0), since)?;
        anyhow::Ok(Workload::shared(CONNECTIONS, vec![call]))
    };
    let page = list(None)?;
    let recent = list(Some((LAST_TRADE - 600) * 1_000))?;
    let sample = async |workload| rounds::sample(subject, workload, effort.span()).await;
    let both = async || Ok((sample(&page).await?, sample(&recent).await?));
    let both = effort.each_round("a page and the last ten minutes", both).await?;
    let mut rows = vec![recent_row(&both)];
    rows.extend(foreign::rows(subject.client, &token, largest, effort).await?);
    Ok(rows)
}

fn slope_row(name: &str, groups: &[Group], measured: &[Measured]) -> Row {
    let costs: Vec<Vec<f64>> = measured.iter().map(|one| one.cpu_micros().collect()).collect();
    let rounds = costs.first().map_or(0, Vec::len);
    let slopes = Spread::of((0..rounds).map(|round| {
        let devices = groups.iter().map(|group| measure::count(group.devices));
        let points = devices.zip(costs.iter().map(|costs| costs[round]));
        slope::of(&points.collect::<Vec<_>>())
    }));
    let note =
        format!("with the devices of a group; rounds {:.3} to {:.3}", slopes.min, slopes.max);
    slope::row(name, slopes, 0.05, note)
}

fn recent_row(both: &[(Sample, Sample)]) -> Row {
    let times = Spread::of(both.iter().map(|(page, recent)| recent.cpu_micros / page.cpu_micros));
    let name = "orders of the last ten minutes";
    let mut row = Row::about(name, times, " × a page", Some(RECENT_AIM));
    row.cpu_micros = Some(Spread::of(both.iter().map(|(_, recent)| recent.cpu_micros)));
    let p50 = |sample: &Sample| sample.answered.latencies.percentile(50);
    let page_p50 = Spread::of(both.iter().map(|(page, _)| p50(page))).median;
    let recent_p50 = Spread::of(both.iter().map(|(_, recent)| p50(recent))).median;
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
