//! DASH-8: days and months of time zones, around clock changes and the ends of months and years.

use kiosque_testkit::{BEST_PATH, BY_DEVICE_PATH, FleetToml, SUMMARY_PATH, TREND_PATH, TestServer};
use serde_json::{Value, json};

use super::{ask, kpi};

const HOUR_MS: i64 = 3_600_000;

/// A device, and an account that sees it.
fn fleet() -> FleetToml {
    FleetToml::new().group("g", "Group").cheap_account("ops", &["g"]).device("K", "Kiosk", "g")
}

fn ms(time: &str) -> i64 {
    kiosque_model::Zone::utc().parse(time).unwrap().0
}

/// Imports sales of one item and one dollar each, paid at these times.
async fn sell(server: &TestServer, paid: &[String]) {
    let mut file = String::new();
    for (at, paid) in paid.iter().enumerate() {
        let order = json!({
            "orderId": format!("o{at}"), "deviceCode": "K", "currency": "USD", "totalAmount": 100,
            "tradeStartTime": "2010-01-01T00:00:00Z", "payEndTime": paid,
            "detailVOList": [{"goodsId": "p", "salePrice": 100}],
        });
        file += &format!("{order}\n");
    }
    server.import_valid(file).await;
}

/// A zone, a day, the minutes at which it begins and ends, its hours, and its neighbours.
const DAYS: [&str; 9] = [
    "America/New_York 2022-03-13 2022-03-13T05:00 2022-03-14T04:00 23 2022-03-12 2022-03-14",
    "America/New_York 2022-11-06 2022-11-06T04:00 2022-11-07T05:00 25 2022-11-05 2022-11-07",
    "Europe/Paris 2024-03-31 2024-03-30T23:00 2024-03-31T22:00 23 2024-03-30 2024-04-01",
    "Asia/Shanghai 2024-02-29 2024-02-28T16:00 2024-02-29T16:00 24 2024-02-28 2024-03-01",
    "Asia/Kathmandu 2023-12-31 2023-12-30T18:15 2023-12-31T18:15 24 2023-12-30 2024-01-01",
    // The day begins at 01:00: midnight was skipped.
    "America/Sao_Paulo 2018-11-04 2018-11-04T03:00 2018-11-05T02:00 23 2018-11-03 2018-11-05",
    // The clock shows 00:00 to 01:00 twice.
    "America/Havana 2025-11-02 2025-11-02T04:00 2025-11-03T05:00 25 2025-11-01 2025-11-03",
    // The zone skipped the day before it.
    "Pacific/Apia 2011-12-31 2011-12-30T10:00 2011-12-31T10:00 24 2011-12-29 2012-01-01",
    "Australia/Lord_Howe 2026-04-05 2026-04-04T13:00 2026-04-05T13:30 24 2026-04-04 2026-04-06",
];

/// DASH-8, DASH-21: a day has the sales from its first instant to its last, however many hours it
/// has.
#[tokio::test]
async fn a_day_has_the_sales_of_all_its_hours() {
    for row in DAYS {
        let row: Vec<&str> = row.split(' ').collect();
        let [zone, day, begins, ends, hours, before, after] = row[..] else { panic!("{row:?}") };
        let server = TestServer::start_in_zone(zone, &fleet()).await;
        server.set_clock("2026-06-01T00:00:00Z");
        let token = server.log_in("ops").await.token;
        let (start, end) = (ms(&format!("{begins}:00Z")), ms(&format!("{ends}:00Z")));
        assert_eq!(((end - start) / HOUR_MS).to_string(), hours, "{zone} {day}");
        let times = [start - 1, start, start + 90 * 60_000, end - 90 * 60_000, end - 1, end];
        let times = times.map(|at| {
            kiosque_model::Zone::utc().text(kiosque_model::UnixMs(at)).replace(' ', "T")
                + &format!(".{:03}Z", at.rem_euclid(1_000))
        });
        sell(&server, &times).await;

        let around = json!({"startTimestamp": start - HOUR_MS, "endTimestamp": end + HOUR_MS});
        let trend = ask(&server, &token, TREND_PATH, &around).await;
        let row = |label: &str, count: i64| {
            let amount = count as f64;
            json!({"label": label, "amount": amount, "orderCount": count})
        };
        assert_eq!(*trend.data(), json!([row(before, 1), row(day, 4), row(after, 1)]), "{zone}");

        // The same when the range cuts the day, so that its orders must be read.
        for (from, until, rows) in [
            (start, end, vec![row(day, 4)]),
            (start + 1, end, vec![row(day, 3)]),
            (start, end - 1, vec![row(day, 3)]),
            (start - 1, end - 1, vec![row(before, 1), row(day, 3)]),
            (start + 1, end + 1, vec![row(day, 3), row(after, 1)]),
            (end - 1, end, vec![row(day, 1)]),
        ] {
            let range = json!({"startTimestamp": from, "endTimestamp": until});
            let trend = ask(&server, &token, TREND_PATH, &range).await;
            assert_eq!(*trend.data(), json!(rows), "{zone} {range}");
            let count: i64 = rows.iter().map(|row| row["orderCount"].as_i64().unwrap()).sum();
            let summary = ask(&server, &token, SUMMARY_PATH, &range).await;
            assert_eq!(kpi(&summary, "orderCount"), count.to_string(), "{zone} {range}");
            let by_device = ask(&server, &token, BY_DEVICE_PATH, &range).await;
            assert_eq!(by_device.data()[0]["salesCount"], count, "{zone} {range}");
            let best = ask(&server, &token, BEST_PATH, &range).await;
            assert_eq!(best.data()["salesCount"], count, "{zone} {range}");
        }
        assert_eq!(server.store.upkeep().verify().await.unwrap().differences, [""; 0], "{zone}");
    }
}

/// DASH-2: the default range begins with the first midnight of the month in the zone.
#[tokio::test]
async fn a_month_begins_at_its_first_midnight_in_the_zone() {
    for (zone, now, begins, days) in [
        ("UTC", "2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", vec![]),
        ("UTC", "2026-02-28T23:59:59.999Z", "2026-02-01T00:00:00Z", vec!["2026-02-01"; 28]),
        (
            "America/New_York",
            "2023-01-01T04:59:59Z",
            "2022-12-01T05:00:00Z",
            vec!["2022-12-01"; 31],
        ),
        ("America/New_York", "2023-01-01T05:00:01Z", "2023-01-01T05:00:00Z", vec!["2023-01-01"]),
        ("Asia/Tokyo", "2022-12-31T15:30:00Z", "2022-12-31T15:00:00Z", vec!["2023-01-01"]),
        // A month that begins in winter and one that begins in summer.
        ("Europe/Paris", "2026-03-31T10:00:00Z", "2026-02-28T23:00:00Z", vec!["2026-03-01"; 31]),
        ("Europe/Paris", "2026-10-31T22:59:59Z", "2026-09-30T22:00:00Z", vec!["2026-10-01"; 31]),
        ("Asia/Kathmandu", "2024-02-29T18:14:59Z", "2024-01-31T18:15:00Z", vec!["2024-02-01"; 29]),
        // Clocks changed on the first of the month.
        ("America/Havana", "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", vec!["2026-11-01"]),
    ] {
        let server = TestServer::start_in_zone(zone, &fleet()).await;
        server.set_clock(now);
        let token = server.log_in("ops").await.token;
        let summary = ask(&server, &token, SUMMARY_PATH, &json!({})).await;
        assert_eq!(summary.data()["startTimestamp"], ms(begins), "{zone} {now}");
        assert_eq!(summary.data()["endTimestamp"], ms(now), "{zone} {now}");
        assert_eq!(summary.data()["timeZone"], zone);
        let trend = ask(&server, &token, TREND_PATH, &json!({})).await;
        let labels: Vec<&Value> =
            trend.data().as_array().unwrap().iter().map(|day| &day["label"]).collect();
        assert_eq!(labels.len(), days.len(), "{zone} {now}");
        assert_eq!(labels.first().copied(), days.first().map(|day| json!(day)).as_ref());
        let named: std::collections::BTreeSet<String> =
            labels.iter().map(|label| label.to_string()).collect();
        assert_eq!(named.len(), labels.len(), "{zone} {now}: no label twice");
    }
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
    assert_eq!(call(start, end).await.data().as_array().unwrap().len(), 3_660);
    assert_eq!(call(start - 1, end).await.code(), -1);
    assert_eq!(call(start, end + 1).await.code(), -1);
    // By elapsed time alone: it touches a day more.
    let noon = start + 13 * HOUR_MS;
    assert_eq!(
        call(noon, noon + 3_660 * 24 * HOUR_MS).await.data().as_array().unwrap().len(),
        3_661
    );
}
