//! Months of time zones, and the longest ranges. `recount` has days around clock changes (DASH-8).

use kiosque_testkit::{FleetToml, Reply, SUMMARY_PATH, TREND_PATH, TestServer};
use serde_json::json;

use super::ask;

const HOUR_MS: i64 = 3_600_000;

/// A device, and an account that sees it.
fn fleet() -> FleetToml {
    FleetToml::new().group("g", "Group").cheap_account("ops", &["g"]).device("K", "Kiosk", "g")
}

/// Returns the number of days of a trend.
fn listed(trend: &Reply) -> usize {
    trend.data().as_array().unwrap().len()
}

fn ms(time: &str) -> i64 {
    kiosque_model::Zone::utc().parse(time).unwrap().0
}

/// DASH-2: the default range begins with the first midnight of the month in the zone.
#[tokio::test]
async fn a_month_begins_at_its_first_midnight_in_the_zone() {
    for (zone, now, begins, first, days) in [
        ("America/New_York", "2023-01-01T04:59:59Z", "2022-12-01T05:00:00Z", "2022-12-01", 31),
        // A month that begins in winter and ends in summer.
        ("Europe/Paris", "2026-03-31T10:00:00Z", "2026-02-28T23:00:00Z", "2026-03-01", 31),
        // A month that has begun in the zone but not in UTC.
        ("Asia/Tokyo", "2022-12-31T15:30:00Z", "2022-12-31T15:00:00Z", "2023-01-01", 1),
        // Clocks changed on the first of the month.
        ("America/Havana", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", "2026-11-01", 1),
    ] {
        let server = TestServer::start_in_zone(zone, &fleet()).await;
        server.set_clock(now);
        let token = server.log_in("ops").await.token;
        let summary = ask(&server, &token, SUMMARY_PATH, &json!({})).await;
        let range = ["startTimestamp", "endTimestamp", "timeZone"].map(|it| &summary.data()[it]);
        assert_eq!(range, [&json!(ms(begins)), &json!(ms(now)), &json!(zone)]);
        let trend = ask(&server, &token, TREND_PATH, &json!({})).await;
        assert_eq!((&trend.data()[0]["label"], listed(&trend)), (&json!(first), days), "{zone}");
    }
}

/// DASH-21: a day that the zone skipped is touched by no range.
#[tokio::test]
async fn a_day_that_was_skipped_is_not_listed() {
    let server = TestServer::start_in_zone("Pacific/Apia", &fleet()).await;
    let token = server.log_in("ops").await.token;
    let (start, end) = (ms("2011-12-29T12:00:00Z"), ms("2011-12-31T12:00:00Z"));
    let range = json!({"startTimestamp": start, "endTimestamp": end});
    let trend = ask(&server, &token, TREND_PATH, &range).await;
    let labels = trend.data().as_array().unwrap().iter().map(|day| &day["label"]);
    assert!(labels.eq(&["2011-12-29", "2011-12-31", "2012-01-01"]), "{trend:?}");
}

/// DASH-6: the most days are counted by the calendar, too, where they may have an hour more or
/// less.
#[tokio::test]
async fn a_range_of_the_most_days_may_hold_a_clock_change() {
    let server = TestServer::start_in_zone("Europe/Paris", &fleet()).await;
    server.set_clock("2026-06-01T00:00:00Z");
    let token = server.log_in("ops").await.token;
    // Ten years and some days: it begins in summer and ends in winter.
    let (start, end) = (ms("2015-10-22T22:00:00Z"), ms("2025-10-29T23:00:00Z"));
    assert_eq!(end - start, (3_660 * 24 + 1) * HOUR_MS);
    let call = async |start: i64, end: i64| {
        let body = json!({"startTimestamp": start, "endTimestamp": end});
        server.call(TREND_PATH, Some(&token), &body.to_string()).await
    };
    assert_eq!(listed(&call(start, end).await), 3_660);
    assert_eq!(call(start - 1, end).await.code(), -1);
    assert_eq!(call(start, end + 1).await.code(), -1);
    // By elapsed time alone: it touches a day more.
    let noon = start + 13 * HOUR_MS;
    assert_eq!(listed(&call(noon, noon + 3_660 * 24 * HOUR_MS).await), 3_661);
}
