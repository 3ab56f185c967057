//! Paging.

use std::sync::LazyLock;

use serde_json::Value;

use crate::answer::{Answer, Expected, Type, has_fields, met};
use crate::facts::Facts;
use crate::paths::DEVICES;
use crate::rule::Mark::{Contract, Kiosque};
use crate::rule::{Rule, rule};

pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    vec![
        rule("pages.defaults", "PAGE-1", Contract)
            .text("current is 1 and size is 10 by default.")
            .ask(|facts| Some(facts.list_devices()))
            .expect(|_, answer| is_page(answer, 1, 10)),
        rule("pages.query", "PAGE-1", Contract)
            .text("current and size are keys of the query string; in a body they mean nothing.")
            .ask(|facts| Some(facts.list_devices().query("current=2&size=1")))
            .expect(|_, answer| is_page(answer, 2, 1))
            .ask(|facts| {
                Some(facts.call(DEVICES, "{\"current\":7,\"size\":7}").query("current=2&size=1"))
            })
            // A server may refuse unknown fields.
            .expect(|_, answer| answer.refusal().or_else(|_| is_page(answer, 2, 1))),
        rule("pages.positive", "PAGE-2", Kiosque)
            .text("current and size are positive integers; an empty value is a violation, too.")
            .ask(|facts| Some(facts.list_devices().query("current=0")))
            .expect(|_, answer| answer.violates(&["current"]))
            .ask(|facts| Some(facts.list_devices().query("size=-1")))
            .ask(|facts| Some(facts.list_devices().query("size=")))
            .expect(|_, answer| answer.violates(&["size"]))
            .ask(|facts| Some(facts.list_devices().query("current=%31&size=007")))
            .expect(|_, answer| is_page(answer, 1, 7)),
        rule("pages.given-once", "PAGE-3", Kiosque)
            .text("A key that is given twice is a violation.")
            .ask(|facts| Some(facts.list_devices().query("size=1&size=1")))
            .expect(|_, answer| answer.violates(&["size"])),
        rule("pages.largest", "PAGE-4", Kiosque)
            .text("No page is silently shortened: a size over the limit is a violation.")
            .ask(|facts| Some(facts.list_devices().query("size=9223372036854775807")))
            .expect(|_, answer| answer.violates(&["size"])),
        rule("pages.fields", "PAGE-5", Contract)
            .text("A page has total, current, size and records; total counts all matches.")
            .ask(|facts| {
                (facts.devices.len() > 1).then(|| facts.list_devices().query("current=2&size=1"))
            })
            .expect(|_, answer| {
                is_page(answer, 2, 1)?;
                has_fields(answer.data(), &[("total", Type::Integer)])?;
                // Devices may have been added or removed since another answer.
                let total = answer.data()["total"].as_u64();
                let listed = answer.records()?.len();
                met!(listed == 0 || total > Some(1), "a total of more than this page")
            }),
        rule("pages.end", "PAGE-6", Contract)
            .text("A page past the end, behind as many records as total says, has none.")
            .ask(|facts| Some(facts.list_devices()))
            .expect(|_, answer| answer.records().map(drop))
            .ask(|facts| Some(facts.list_devices().query(&past_the_end(facts))))
            .expect(no_records),
        rule("pages.past-the-end", "PAGE-6", Kiosque)
            .text("A page past the end has the true total and no records.")
            .ask(|facts| Some(facts.list_devices().query("current=1000000")))
            .expect(|facts, answer| {
                met!(answer.records()?.is_empty(), "records []")?;
                let total = facts.device_count;
                met!(answer.data()["total"] == total, "total {total}")
            }),
        rule("pages.each-once", "PAGE-7", Contract)
            .text("Pages that follow each other have different records.")
            .ask(|facts| {
                (facts.devices.len() > 1).then(|| facts.list_devices().query("size=1&current=1"))
            })
            .expect(|_, answer| is_page(answer, 1, 1))
            .ask(|facts| Some(facts.list_devices().query("size=1&current=2")))
            .expect(|facts, answer| {
                is_page(answer, 2, 1)?;
                let before = facts.before.as_ref().map(|before| &before.data()["records"][0]);
                let is_before =
                    |it: &Value| Some(&it["deviceCode"]) == before.map(|it| &it["deviceCode"]);
                let is_met = !answer.records()?.iter().any(is_before);
                met!(is_met, "a device that is not on the page before")
            }),
    ]
});

/// Expects the page of devices that the previous answer has.
pub(super) fn same_page(facts: &Facts, answer: &Answer) -> Expected {
    let shown = |page: &Answer| {
        let codes = page.listed("records").into_iter().map(|device| device["deviceCode"].clone());
        let numbers = ["total", "current", "size"].map(|name| page.data()[name].clone());
        (numbers, codes.collect::<Vec<_>>())
    };
    answer.records()?;
    let is_met = facts.before.as_ref().map(shown) == Some(shown(answer));
    met!(is_met, "the same page as in the previous answer")
}

fn is_page(answer: &Answer, current: i64, size: i64) -> Expected {
    let data = answer.success()?;
    let is_met = data["current"] == current && data["size"] == size;
    met!(is_met, "current {current} and size {size}")?;
    let most = usize::try_from(size).unwrap_or(usize::MAX);
    met!(answer.records()?.len() <= most, "at most {size} records")
}

/// Returns the query of the first record after those that the previous page counts.
pub(super) fn past_the_end(facts: &Facts) -> String {
    format!("current={}&size=1", total_before(facts).saturating_add(1))
}

/// Expects a page without records, unless more are counted now. The contract does not forbid
/// refusing it.
pub(super) fn no_records(facts: &Facts, answer: &Answer) -> Expected {
    let is_met = answer.refusal().is_ok()
        || answer.records()?.is_empty()
        || answer.data()["total"].as_u64() > Some(total_before(facts));
    met!(is_met, "records [] behind the records that total counts")
}

fn total_before(facts: &Facts) -> u64 {
    facts.before.as_ref().and_then(|page| page.data()["total"].as_u64()).unwrap_or_default()
}
