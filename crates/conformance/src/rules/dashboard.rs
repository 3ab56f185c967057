//! Dashboard functions.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use kiosque_model::Day;
use serde_json::{Value, json};

use crate::answer::{Answer, Expected, Type, all_have_fields, has_fields, met};
use crate::ask::Ask;
use crate::facts::{DAY_MS, Facts};
use crate::paths::{AISLES, BEST, BY_DEVICE, ONLINE, PROFILE, SUMMARY, TREND};
use crate::rule::Mark::{Contract, Kiosque};
use crate::rule::{Needs, Rule, rule};

pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    vec![
        rule("dashboard.start-after-end", "DASH-5", Kiosque)
            .text("A range whose start is after its end is refused.")
            .ask(|facts| Some(facts.call_in(SUMMARY, facts.now_ms, facts.now_ms - 1)))
            .expect(|_, answer| answer.outcome(200, -1)),
        rule("dashboard.longest-range", "DASH-6", Kiosque)
            .text("A range of more than 3,660 days is a violation.")
            .ask(|facts| Some(facts.call_in(SUMMARY, facts.days_ago(3_662), facts.now_ms)))
            .expect(|_, answer| answer.violates(&["startTimestamp"])),
        rule("dashboard.summary", "DASH-14", Kiosque)
            .text("The summary names its range, its zone and its currency.")
            .ask(|facts| Some(facts.call(SUMMARY, "{}")))
            .expect(|_, answer| {
                let fields = [
                    ("startTimestamp", Type::Integer),
                    ("endTimestamp", Type::Integer),
                    ("timeZone", Type::Text),
                    ("currency", Type::Text),
                    ("kpiList", Type::List),
                    ("unconvertedOrders", Type::Integer),
                ];
                has_fields(answer.success()?, &fields)?;
                met!(answer.data()["currency"] == "USD", "currency USD")
            }),
        rule("dashboard.range", "DASH-1", Kiosque)
            .text("A range that is given is the one that the summary answers for.")
            .ask(|facts| Some(facts.call_in(SUMMARY, facts.days_ago(1), facts.now_ms)))
            .expect(|facts, answer| {
                let data = answer.success()?;
                let start = facts.days_ago(1);
                let is_met =
                    data["startTimestamp"] == start && data["endTimestamp"] == facts.now_ms;
                met!(is_met, "startTimestamp and endTimestamp as in the request")
            }),
        rule("dashboard.kpis", "DASH-15", Kiosque)
            .text("The summary has all nine KPIs in their order.")
            .ask(|facts| Some(facts.call(SUMMARY, "{}")))
            .expect(|_, answer| {
                let codes = [
                    "salesAmount",
                    "orderCount",
                    "itemCount",
                    "averageOrderAmount",
                    "refundAmount",
                    "shipmentSuccessRate",
                    "deviceCount",
                    "onlineDeviceCount",
                    "onlineRate",
                ];
                let fields = ["code", "name", "value", "type"].map(|name| (name, Type::Text));
                let list = all_have_fields(&answer.success()?["kpiList"], &fields)?;
                let is_met = list
                    .iter()
                    .map(|kpi| kpi["code"].as_str())
                    .eq(codes.iter().map(|code| Some(*code)));
                met!(is_met, "the KPIs {}", codes.join(", "))
            }),
        rule("dashboard.empty-values", "DASH-16", Kiosque)
            .text(
                "Without a sale, sums are \"0.00\", counts of sales \"0\" and their \
                 percentage \"–\".",
            )
            .ask(|facts| Some(facts.call_in(SUMMARY, facts.now_ms, facts.now_ms)))
            .expect(|facts, answer| {
                let unconverted = &answer.success()?["unconvertedOrders"];
                let devices = facts.device_count.to_string();
                let expected = [
                    ("salesAmount", "0.00"),
                    ("orderCount", "0"),
                    ("itemCount", "0"),
                    ("averageOrderAmount", "0.00"),
                    ("refundAmount", "0.00"),
                    ("shipmentSuccessRate", "–"),
                    ("deviceCount", devices.as_str()),
                ];
                let kpis = answer.listed("kpiList");
                let has =
                    |code, value| kpis.iter().any(|it| it["code"] == code && it["value"] == value);
                let is_met = expected.into_iter().all(|(code, value)| has(code, value));
                met!(is_met && *unconverted == 0, "{expected:?}, unconvertedOrders 0")
            }),
        rule("dashboard.best-seller", "DASH-17", Kiosque)
            .text(
                "The best-selling product is the first of rankList, of which most items \
                 were sold.",
            )
            .ask(|facts| Some(facts.call_in(BEST, facts.days_ago(365), facts.now_ms)))
            .expect(|_, answer| {
                let data = answer.success()?;
                if data.is_null() {
                    return Ok(());
                }
                let fields = [
                    ("goodsId", Type::Text),
                    ("goodsName", Type::Text),
                    ("price", Type::NumberOrNull),
                    ("defaultPrice", Type::NumberOrNull),
                    ("averagePrice", Type::NumberOrNull),
                    ("salesCount", Type::Integer),
                    ("salesAmount", Type::Number),
                    ("deviceCount", Type::Integer),
                ];
                has_fields(data, &fields)?;
                let list = all_have_fields(&data["rankList"], &fields)?;
                let is_first = data["rankList"][0]["goodsId"] == data["goodsId"];
                met!(is_first, "the same goodsId first in rankList")?;
                let is_met = list.len() <= 10
                    && list.is_sorted_by_key(|it| Reverse(it["salesCount"].as_i64()));
                met!(is_met, "at most ten products, by salesCount")
            }),
        rule("dashboard.nothing-sold", "DASH-19", Contract)
            .text("Best-selling product answers with null when nothing was sold.")
            .needs(Needs::KiosquePath)
            .ask(|facts| Some(facts.call(BEST, "{}")))
            .expect(|_, _| Ok(()))
            .ask(|facts| {
                is_answered(facts).then(|| facts.call_in(BEST, facts.now_ms, facts.now_ms))
            })
            .expect(|_, answer| {
                // A server that does not know these fields answers for another range.
                let data = answer.data();
                met!(*data != json!([]) && *data != json!({}), "data null")
            }),
        rule("dashboard.empty-range", "DASH-19", Kiosque)
            .text(
                "Without a sale, Best-selling product answers with null, and Sales by \
                 device with [].",
            )
            .ask(|facts| Some(facts.call_in(BEST, facts.now_ms, facts.now_ms)))
            .expect(|_, answer| met!(answer.success()?.is_null(), "data null"))
            .ask(|facts| Some(facts.call_in(BY_DEVICE, facts.now_ms, facts.now_ms)))
            .expect(|_, answer| met!(*answer.success()? == json!([]), "data []")),
        rule("dashboard.by-device", "DASH-20", Kiosque)
            .text("Sales by device has the sales of each device, the largest amount first.")
            .ask(|facts| Some(facts.call_in(BY_DEVICE, facts.days_ago(365), facts.now_ms)))
            .expect(|_, answer| {
                let fields = [
                    ("deviceCode", Type::Text),
                    ("deviceName", Type::Text),
                    ("orderCount", Type::Integer),
                    ("salesCount", Type::Integer),
                    ("salesAmount", Type::Number),
                ];
                let list = all_have_fields(answer.success()?, &fields)?;
                let amounts =
                    list.iter().map(|device| -device["salesAmount"].as_f64().unwrap_or_default());
                met!(amounts.is_sorted(), "devices by salesAmount")
            }),
        rule("dashboard.trend-days", "DASH-21", Contract)
            .text("Sales trend has a label yyyy-MM-dd for each day, also for days without sales.")
            .needs(Needs::KiosquePath)
            .ask(|facts| Some(trend(facts, 1)))
            .expect(|facts, answer| match answer.success() {
                Ok(data) => days_of(facts, data).map(drop),
                Err(_) => Ok(()),
            })
            .ask(|facts| is_answered(facts).then(|| trend(facts, 1 + TREND_DAYS)))
            .expect(|facts, answer| {
                let Ok(data) = answer.success() else { return Ok(()) };
                let days = days_of(facts, data)?;
                let before =
                    days_of(facts, facts.before.as_ref().map_or(&Value::Null, Answer::data))?;
                // A server that ignores the fields of the range answers twice for another one.
                if days.end > before.start {
                    return Ok(());
                }
                let is_met = [before, days].iter().all(|days| days.end - days.start > TREND_DAYS);
                met!(is_met, "{} days, as the range has", TREND_DAYS + 1)
            }),
        rule("dashboard.trend", "DASH-21", Kiosque)
            .text("The trend has an entry for each day that the range touches, in order.")
            .ask(|facts| Some(facts.call_in(TREND, facts.days_ago(3), facts.now_ms)))
            .expect(|_, answer| {
                let fields = [
                    ("label", Type::Text),
                    ("amount", Type::Number),
                    ("orderCount", Type::Integer),
                ];
                let days = all_have_fields(answer.success()?, &fields)?;
                let labels = days.iter().map(|day| day["label"].as_str().unwrap_or_default());
                let is_met = (3..=5).contains(&days.len())
                    && labels.clone().is_sorted()
                    && labels.clone().all(|it| it.len() == 10);
                met!(is_met, "three to five days as yyyy-MM-dd, in order")
            }),
        rule("dashboard.aisles", "DASH-22", Kiosque)
            .text("The hierarchy of aisles has every device, its cabinets, layers and aisles.")
            .ask(|facts| Some(facts.call(AISLES, "{}")))
            .expect(|facts, answer| {
                let fields = [
                    ("deviceCode", Type::Text),
                    ("deviceName", Type::Text),
                    ("cabinets", Type::List),
                ];
                let devices = all_have_fields(answer.success()?, &fields)?;
                let aisles = answer.data().pointer("/0/cabinets/0/layers/0/aisles").cloned();
                let fields = [
                    ("code", Type::Text),
                    ("price", Type::Integer),
                    ("currency", Type::Text),
                    ("currStock", Type::Integer),
                    ("goodsId", Type::Text),
                ];
                all_have_fields(&aisles.unwrap_or_else(|| json!([])), &fields)?;
                met!(devices.len() == facts.device_count, "{} devices", facts.device_count)
            }),
        rule("dashboard.profile", "DASH-24", Kiosque)
            .text("Device profile has the devices of List devices.")
            .ask(|facts| Some(facts.call(PROFILE, "{}")))
            .expect(|facts, answer| {
                answer.success()?;
                let list = answer.listed("list");
                // Activity and stock may have changed since the survey.
                let lasting = |device: &Value| LASTING.map(|name| device[name].clone());
                let (listed, known) = (list.iter().map(lasting), facts.devices.iter().map(lasting));
                let is_met =
                    list.len() == facts.device_count && listed.take(facts.devices.len()).eq(known);
                met!(is_met, "the devices of List devices in list")
            }),
        rule("dashboard.online", "DASH-25", Kiosque)
            .text("Online devices counts the devices that it lists.")
            .ask(|facts| Some(facts.call(ONLINE, "")))
            .expect(|_, answer| {
                let data = answer.success()?;
                let fields = [
                    ("totalCount", Type::Integer),
                    ("onlineCount", Type::Integer),
                    ("offlineCount", Type::Integer),
                    ("list", Type::List),
                ];
                has_fields(data, &fields)?;
                let list = data["list"].as_array().map(Vec::as_slice).unwrap_or_default();
                let online = list.iter().filter(|device| device["isOnline"] == 1).count();
                let counts = [
                    ("totalCount", list.len()),
                    ("onlineCount", online),
                    ("offlineCount", list.len() - online),
                ];
                let is_met = counts.iter().all(|(name, count)| data[name] == *count);
                met!(is_met, "{counts:?}")
            }),
    ]
});

/// The fields of a device that only the operator changes.
const LASTING: [&str; 7] = [
    "deviceCode",
    "deviceName",
    "groupId",
    "groupName",
    "deviceModel",
    "address",
    "createTimestamp",
];

/// The days from the first one of a range to its last.
const TREND_DAYS: i64 = 30;

/// Returns a request for the sales trend of days that ended `days_ago`. The range begins and ends
/// at 10:30 UTC, when it is not midnight in any zone that changes its clocks.
fn trend(facts: &Facts, days_ago: i64) -> Ask {
    let at = |days_ago| (facts.today() - days_ago) * DAY_MS + 10 * 3_600_000 + 1_800_000;
    facts.call_in(TREND, at(days_ago + TREND_DAYS), at(days_ago))
}

/// Returns the days of the labels of a sales trend, and expects no gaps between them. The contract
/// specifies the form of a label, but no field: any text may be one.
fn days_of(facts: &Facts, trend: &Value) -> Expected<Range<i64>> {
    let mut texts = BTreeSet::new();
    add_texts(trend, &mut texts);
    // The server's clock may be wrong, such as a demo's.
    let days = facts.today() - 3_700..facts.today() + 3_700;
    let listed = days.filter(|day| texts.contains(Day(*day).to_string().as_str()));
    let listed: Vec<i64> = listed.collect();
    let (Some(first), Some(last)) = (listed.first(), listed.last()) else {
        return Err("labels yyyy-MM-dd of the days of the range".to_owned());
    };
    let is_missing = |day: &i64| !listed.contains(day);
    match (*first..*last).find(is_missing) {
        Some(day) => Err(format!("a label for each day, {} as well", Day(day))),
        None => Ok(*first..*last + 1),
    }
}

/// Adds all texts of a value and the names of its fields.
fn add_texts<'v>(value: &'v Value, texts: &mut BTreeSet<&'v str>) {
    match value {
        Value::String(text) => drop(texts.insert(text)),
        Value::Array(list) => list.iter().for_each(|value| add_texts(value, texts)),
        Value::Object(object) => object.iter().for_each(|(name, value)| {
            texts.insert(name);
            add_texts(value, texts);
        }),
        _ => {}
    }
}

/// Returns whether the previous request succeeded. The contract does not specify the path of this
/// function.
fn is_answered(facts: &Facts) -> bool {
    facts.before.as_ref().is_some_and(|before| before.success().is_ok())
}
