use kiosque_testkit::{
    AISLE_PATH, BEST_PATH, BY_DEVICE_PATH, ONLINE_PATH, PROFILE_PATH, SUMMARY_PATH, TREND_PATH,
};
use serde_json::{Value, json};

use super::{Call, Given, Plant, plant};

pub(super) fn plants() -> Vec<Plant> {
    let mut plants = summaries();
    plants.extend(sales());
    plants.extend(devices());
    plants
}

fn summaries() -> Vec<Plant> {
    vec![
        plant("the ends of a range are exchanged", &["dashboard.start-after-end"]).call(
            |call, _| {
                let (start, end) = range(call);
                if call.path == SUMMARY_PATH && start > end && end > 0 {
                    call.change_body(|body| {
                        body["startTimestamp"] = json!(end);
                        body["endTimestamp"] = json!(start);
                    });
                }
            },
        ),
        plant("a long range is shortened", &["dashboard.longest-range"]).call(|call, _| {
            let (start, end) = range(call);
            if call.path == SUMMARY_PATH && start > 0 && end - start > 3_660 * 86_400_000 {
                call.change_body(|body| body["startTimestamp"] = json!(end));
            }
        }),
        plant("a summary does not name its zone", &["dashboard.summary"]).answer(
            |call, given, _| {
                if call.path == SUMMARY_PATH && given.code() == 200 {
                    given.data().as_object_mut().unwrap().remove("timeZone");
                }
            },
        ),
        plant("a range begins an hour early", &["dashboard.range"]).answer(|call, given, _| {
            if call.path == SUMMARY_PATH && given.code() == 200 {
                let start = given.data()["startTimestamp"].as_i64().unwrap();
                given.data()["startTimestamp"] = json!(start - 3_600_000);
            }
        }),
        plant("KPIs are listed backwards", &["dashboard.kpis"]).answer(|call, given, _| {
            if call.path == SUMMARY_PATH {
                given.list("kpiList").reverse();
            }
        }),
        plant("a percentage of nothing is 0.0%", &["dashboard.empty-values"]).answer(
            |call, given, _| {
                if call.path == SUMMARY_PATH {
                    for kpi in given.list("kpiList").iter_mut().filter(|kpi| kpi["value"] == "–")
                    {
                        kpi["value"] = json!("0.0%");
                    }
                }
            },
        ),
        plant("a summary counts no device", &["dashboard.empty-values"]).answer(
            |call, given, _| {
                if call.path == SUMMARY_PATH {
                    for kpi in given.list("kpiList") {
                        if kpi["code"] == "deviceCount" {
                            kpi["value"] = json!("0");
                        }
                    }
                }
            },
        ),
        plant("no money is 0", &["dashboard.empty-values"]).answer(|call, given, _| {
            if call.path == SUMMARY_PATH {
                for kpi in given.list("kpiList").iter_mut().filter(|kpi| kpi["value"] == "0.00") {
                    kpi["value"] = json!("0");
                }
            }
        }),
    ]
}

fn sales() -> Vec<Plant> {
    vec![
        plant("the worst seller is first", &["dashboard.best-seller"]).answer(|call, given, _| {
            if call.path == BEST_PATH {
                given.list("rankList").reverse();
            }
        }),
        plant(
            "nothing sold is an empty list",
            &["dashboard.empty-range", "dashboard.nothing-sold"],
        )
        .answer(|call, given, _| {
            if call.path == BEST_PATH && given.code() == 200 && given.data().is_null() {
                *given.data() = json!([]);
            }
        }),
        plant("no sales by device are null", &["dashboard.empty-range"]).answer(
            |call, given, _| {
                if call.path == BY_DEVICE_PATH && array(given).is_empty() {
                    *given.data() = json!(null);
                }
            },
        ),
        plant("the smallest sales are first", &["dashboard.by-device"]).answer(|call, given, _| {
            if call.path == BY_DEVICE_PATH {
                array(given).reverse();
            }
        }),
        plant("the trend lacks its first day", &["dashboard.trend-days"]).answer(
            |call, given, _| {
                if call.path == TREND_PATH && array(given).len() > 5 {
                    array(given).remove(0);
                }
            },
        ),
        plant("the trend lacks a day between others", &["dashboard.trend-days"]).answer(
            |call, given, _| {
                if call.path == TREND_PATH && array(given).len() > 5 {
                    array(given).remove(7);
                }
            },
        ),
        plant(
            "the trend leaves days without sales out",
            &["dashboard.trend", "dashboard.trend-days"],
        )
        .answer(|call, given, _| {
            if call.path == TREND_PATH {
                array(given).retain(|day| day["orderCount"] != 0);
            }
        }),
        plant("the last day of the trend is first", &["dashboard.trend"]).answer(
            |call, given, _| {
                if call.path == TREND_PATH {
                    array(given).reverse();
                }
            },
        ),
    ]
}

fn devices() -> Vec<Plant> {
    vec![
        plant("the hierarchy lacks a device", &["dashboard.aisles"]).answer(|call, given, _| {
            if call.path == AISLE_PATH {
                array(given).pop();
            }
        }),
        plant("the profile lacks a device", &["dashboard.profile"]).answer(|call, given, _| {
            if call.path == PROFILE_PATH {
                given.data()["list"].as_array_mut().unwrap().pop();
            }
        }),
        plant("a profile has other names", &["dashboard.profile"]).answer(|call, given, _| {
            if call.path == PROFILE_PATH {
                for device in given.list("list") {
                    device["deviceName"] = json!("Kiosk");
                }
            }
        }),
        plant("Online devices counts one too many", &["dashboard.online"]).answer(
            |call, given, _| {
                if call.path == ONLINE_PATH && given.code() == 200 {
                    given.data()["onlineCount"] = json!(1);
                }
            },
        ),
    ]
}

/// Returns the ends of a range; 0 for an absent one.
fn range(call: &Call) -> (i64, i64) {
    let body = call.json();
    let end = |name| body.get(name).and_then(Value::as_i64).unwrap_or_default();
    (end("startTimestamp"), end("endTimestamp"))
}

/// Returns the list that an answer is.
fn array(given: &mut Given) -> &mut Vec<Value> {
    given.data().as_array_mut().unwrap()
}
