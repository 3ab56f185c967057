//! Paging.

use super::rule;
use crate::answer::{Answer, Expected, met};
use crate::paths::DEVICES;
use crate::rule::Rule;

pub(super) const RULES: &[Rule] = &[
    rule!(
        "pages.defaults",
        "PAGE-1",
        Contract,
        Reads,
        "current is 1 and size is 10 by default.",
        |facts| Some(facts.call(DEVICES, "{}")),
        |_, answer| is_page(answer, 1, 10),
    ),
    rule!(
        "pages.query",
        "PAGE-1",
        Contract,
        Reads,
        "current and size are keys of the query string; in a body they mean nothing.",
        |facts| Some(facts.call(DEVICES, "{\"current\":7,\"size\":7}").query("current=2&size=1")),
        |_, answer| is_page(answer, 2, 1),
    ),
    rule!(
        "pages.positive",
        "PAGE-2",
        Kiosque,
        Reads,
        "current and size are positive integers; an empty value is a violation, too.",
        |facts| Some(facts.call(DEVICES, "{}").query("current=0")),
        |_, answer| answer.violates(&["current"]),
        |facts| Some(facts.call(DEVICES, "{}").query("size=-1")),
        |_, answer| answer.violates(&["size"]),
        |facts| Some(facts.call(DEVICES, "{}").query("size=")),
        |_, answer| answer.violates(&["size"]),
        |facts| Some(facts.call(DEVICES, "{}").query("current=%31&size=007")),
        |_, answer| is_page(answer, 1, 7),
    ),
    rule!(
        "pages.given-once",
        "PAGE-3",
        Kiosque,
        Reads,
        "A key that is given twice is a violation.",
        |facts| Some(facts.call(DEVICES, "{}").query("size=1&size=1")),
        |_, answer| answer.violates(&["size"]),
    ),
    rule!(
        "pages.largest",
        "PAGE-4",
        Kiosque,
        Reads,
        "No page is silently shortened: a size over the limit is a violation.",
        |facts| Some(facts.call(DEVICES, "{}").query("size=9223372036854775807")),
        |_, answer| answer.violates(&["size"]),
    ),
    rule!(
        "pages.fields",
        "PAGE-5",
        Contract,
        Reads,
        "A page has total, current, size and records; total counts all matches.",
        |facts| Some(facts.call(DEVICES, "{}").query("current=1&size=1")),
        |facts, answer| {
            is_page(answer, 1, 1)?;
            let total = facts.device_count;
            met!(answer.data()["total"] == total, || format!("total {total}"))
        },
    ),
    rule!(
        "pages.past-the-end",
        "PAGE-6",
        Kiosque,
        Reads,
        "A page past the end has the true total and no records.",
        |facts| Some(facts.call(DEVICES, "{}").query("current=1000000")),
        |facts, answer| {
            met!(answer.records()?.is_empty(), || "records []".to_owned())?;
            let total = facts.device_count;
            met!(answer.data()["total"] == total, || format!("total {total}"))
        },
    ),
    rule!(
        "pages.each-once",
        "PAGE-7",
        Contract,
        Reads,
        "Pages that follow each other have different records.",
        |facts| (facts.devices.len() > 1)
            .then(|| facts.call(DEVICES, "{}").query("size=1&current=1")),
        |facts, answer| is_device(answer, facts.devices.first()),
        |facts| Some(facts.call(DEVICES, "{}").query("size=1&current=2")),
        |facts, answer| is_device(answer, facts.devices.get(1)),
    ),
];

fn is_page(answer: &Answer, current: i64, size: i64) -> Expected {
    let data = answer.success()?;
    let is_met = data["current"] == current && data["size"] == size;
    met!(is_met, || format!("current {current} and size {size}"))?;
    let most = usize::try_from(size).unwrap_or(usize::MAX);
    met!(answer.records()?.len() <= most, || format!("at most {size} records"))
}

fn is_device(answer: &Answer, device: Option<&serde_json::Value>) -> Expected {
    let code = device.map(|device| &device["deviceCode"]);
    let own = answer.records()?.first().map(|record| &record["deviceCode"]);
    let is_met = own.is_some() && own == code && answer.records()?.len() == 1;
    met!(is_met, || format!("one record, the device {}", code.unwrap_or(&serde_json::Value::Null)))
}
