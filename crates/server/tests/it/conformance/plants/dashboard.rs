use kiosque_testkit::{
    AISLE_PATH, BEST_PATH, BY_DEVICE_PATH, ONLINE_PATH, PROFILE_PATH, SUMMARY_PATH, TREND_PATH,
};
use serde_json::{Value, json};

use super::Change::{Add, Remove, Replace, Reverse, Set};
use super::{Call, Plant, at, plant};

pub(super) fn plants() -> Vec<Plant> {
    vec![
        plant("the ends of a range are exchanged").call(|call, _| {
            let (start, end) = range(call);
            if call.path == SUMMARY_PATH && start > end && end > 0 {
                call.change_body(|body| {
                    body["startTimestamp"] = json!(end);
                    body["endTimestamp"] = json!(start);
                });
            }
        }),
        plant("a long range is shortened").call(|call, _| {
            let (start, end) = range(call);
            if call.path == SUMMARY_PATH && start > 0 && end - start > 3_660 * 86_400_000 {
                call.change_body(|body| body["startTimestamp"] = json!(end));
            }
        }),
        plant("a summary does not name its zone").on(at(SUMMARY_PATH), Remove("data.timeZone")),
        plant("a range begins an hour early")
            .on(at(SUMMARY_PATH), Add("data.startTimestamp", -3_600_000)),
        plant("KPIs are listed backwards").on(at(SUMMARY_PATH), Reverse("data.kpiList")),
        plant("a percentage of nothing is 0.0%")
            .on(at(SUMMARY_PATH), Replace("data.kpiList.*.value", json!("–"), json!("0.0%"))),
        plant("a summary counts no device")
            .on(at(SUMMARY_PATH), Set("data.kpiList.6.value", json!("0"))),
        plant("no money is 0")
            .on(at(SUMMARY_PATH), Replace("data.kpiList.*.value", json!("0.00"), json!("0"))),
        plant("the worst seller is first").on(at(BEST_PATH), Reverse("data.rankList")),
        plant("nothing sold is an empty list")
            .on(at(BEST_PATH), Replace("data", Value::Null, json!([]))),
        plant("no sales by device are null")
            .on(at(BY_DEVICE_PATH), Replace("data", json!([]), Value::Null)),
        plant("the smallest sales are first").on(at(BY_DEVICE_PATH), Reverse("data")),
        plant("the trend lacks its first day").answer(|call, given, _| {
            let days = given.data().as_array_mut();
            if let Some(days) = days.filter(|days| call.path == TREND_PATH && days.len() > 5) {
                days.remove(0);
            }
        }),
        plant("the trend lacks a day between others").on(at(TREND_PATH), Remove("data.7")),
        plant("the trend leaves days without sales out").answer(|call, given, _| {
            if call.path == TREND_PATH {
                given.data().as_array_mut().unwrap().retain(|day| day["orderCount"] != 0);
            }
        }),
        plant("the last day of the trend is first").on(at(TREND_PATH), Reverse("data")),
        plant("the hierarchy lacks a device").on(at(AISLE_PATH), Remove("data.0")),
        plant("the profile lacks a device").on(at(PROFILE_PATH), Remove("data.list.0")),
        plant("a profile has other names")
            .on(at(PROFILE_PATH), Set("data.list.*.deviceName", json!("Kiosk"))),
        plant("Online devices counts one too many")
            .on(at(ONLINE_PATH), Set("data.onlineCount", json!(1))),
    ]
}

/// Returns the ends of a range; 0 for an absent one.
fn range(call: &Call) -> (i64, i64) {
    let body = call.json();
    let end = |name| body.get(name).and_then(Value::as_i64).unwrap_or_default();
    (end("startTimestamp"), end("endTimestamp"))
}
