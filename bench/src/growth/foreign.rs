//! A group that is not the caller's, compared with one that does not exist: both must be refused,
//! and take the same time.

use std::time::Instant;

use kiosque_contract::Endpoint;
use kiosque_contract::endpoint::{DeviceAisle, DevicePage, Summary};
use serde_json::json;

use super::data::Group;
use crate::calls::paged;
use crate::client::{Call, Client, Connection};
use crate::latency::Latencies;
use crate::options::Effort;
use crate::report::{Aim, Row};
use crate::spread::Spread;

/// Medians that differ by less than this part count as equal, however close two runs were.
const NOISE: f64 = 0.05;

/// Medians of one round in us: of the foreign group, and of two absent ones.
type Medians = [f64; 3];

/// Requests the foreign group and two absent ones in turn, on one connection.
///
/// # Errors
/// One of them is not refused.
pub(super) async fn rows(
    client: &Client,
    token: &str,
    foreign: &Group,
    effort: &Effort,
) -> anyhow::Result<Vec<Row>> {
    let paths = [
        ("aisles", DeviceAisle::PATH.to_owned()),
        ("summary", Summary::PATH.to_owned()),
        ("device page", paged(DevicePage::PATH, 1)),
    ];
    let mut rows = Vec::new();
    for (name, path) in paths {
        let call = |group: &str| Call::refused(&path, token, &json!({ "groupId": group }));
        let calls = [call(&foreign.name)?, call("absent1")?, call("absent2")?];
        let measure = async || medians(client.connect().await?, &calls, effort).await;
        rows.push(row(name, &effort.each_round(name, measure).await?));
    }
    Ok(rows)
}

async fn medians(
    mut connection: Connection,
    calls: &[Call; 3],
    effort: &Effort,
) -> anyhow::Result<Medians> {
    let mut taken: [Latencies; 3] = Default::default();
    let begun = Instant::now();
    while begun.elapsed() < effort.span() {
        for (call, taken) in calls.iter().zip(&mut taken) {
            let asked = Instant::now();
            connection.post(call).await?;
            taken.note(asked.elapsed());
        }
    }
    Ok(taken.map(|taken| taken.percentile(50)))
}

fn row(name: &str, rounds: &[Medians]) -> Row {
    let of = |figure: fn(&Medians) -> f64| Spread::of(rounds.iter().map(figure));
    let differences = of(|[foreign, absent, _]| (foreign - absent).abs());
    let noise = of(|[_, absent, other]| (other - absent).abs());
    let [foreign, absent] = [of(|medians| medians[0]), of(|medians| medians[1])];
    let most = noise.max.max(absent.median * NOISE);
    let name = format!("{name} of a foreign group");
    let row = Row::about(name, differences, " us from absent", Some(Aim::AtMost(most)));
    let [foreign, absent, noise] = [foreign, absent, noise].map(|times| times.shown(0, " us"));
    row.noted(format!(
        "medians: foreign {foreign}, absent {absent}; two absent groups differ by {noise}"
    ))
}
