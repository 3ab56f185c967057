//! Dollars (DASH-9) and their one rounding (DASH-13). `recount` has rates by day, and sales without
//! a rate.

use kiosque_testkit::{
    AISLE_PATH, BEST_PATH, BY_DEVICE_PATH, FleetToml, SUMMARY_PATH, TREND_PATH, TestServer,
};
use serde_json::{Value, json};

use super::{ask, kpi};

fn fleet() -> FleetToml {
    let mut fleet = FleetToml::new().group("g", "Group").cheap_account("ops", &["g"]);
    for (currency, price) in [("JPY", 155), ("EUR", 250), ("KWD", 1_250), ("USD", 199)] {
        let (product, name) = (format!("p-{currency}"), format!("In {currency}"));
        let aisle = format!("product = {product:?}, price = {price}, show_price = {}", price + 1);
        fleet = fleet
            .product(&product, &name, currency)
            .with(&format!("default_price = {price}"))
            .device(currency, &name, "g")
            .with(&format!("aisle = [{{code = \"1\", {aisle}}}]"));
    }
    fleet
}

struct Sale {
    id: String,
    currency: &'static str,
    amount: i64,
    day: &'static str,
}

/// A device for each currency sells its product.
async fn sell(server: &TestServer, sales: &[Sale]) {
    let mut file = String::new();
    for Sale { id, currency, amount, day } in sales {
        let order = json!({
            "orderId": id, "deviceCode": currency, "currency": currency, "totalAmount": amount,
            "tradeStartTime": format!("{day} 12:00:00"), "payEndTime": format!("{day} 12:00:00"),
            "detailVOList": [{"goodsId": format!("p-{currency}"), "salePrice": amount}],
        });
        file += &format!("{order}\n");
    }
    server.import_valid(file).await;
}

async fn open() -> (TestServer, String) {
    let server = TestServer::start(&fleet()).await;
    let token = server.log_in("ops").await.token;
    (server, token)
}

/// A currency, amounts in its minor units (FMT-3), a rate, and their value in dollars: as a number,
/// as a KPI, and on average.
type Worth = (&'static str, &'static [i64], &'static str, f64, &'static str, f64);

/// Currencies with 0, 2 and 3 decimals.
const WORTH: &[Worth] = &[
    ("USD", &[350], "1", 3.5, "3.50", 3.5),
    ("USD", &[123_456, 1], "1", 1_234.57, "1,234.57", 617.28),
    ("JPY", &[1_000], "0.0067", 6.7, "6.70", 6.7),
    // DASH-13: half a cent is rounded to even.
    ("JPY", &[1], "0.005", 0.0, "0.00", 0.0),
    ("JPY", &[1], "0.015", 0.02, "0.02", 0.02),
    ("JPY", &[1], "0.025", 0.02, "0.02", 0.02),
    ("JPY", &[1], "0.025000000001", 0.03, "0.03", 0.03),
    // Rounded once: three halves of a cent are a cent and a half, and two of them a cent.
    ("JPY", &[1, 1, 1], "0.005", 0.02, "0.02", 0.0),
    ("JPY", &[1, 1], "0.005", 0.01, "0.01", 0.0),
    ("EUR", &[100], "1.085", 1.08, "1.08", 1.08),
    ("EUR", &[100], "1.095", 1.1, "1.10", 1.1),
    ("EUR", &[333, 333, 334], "1.0837", 10.84, "10.84", 3.61),
    ("KWD", &[1_234], "3.25", 4.01, "4.01", 4.01),
    ("KWD", &[2], "2.5", 0.0, "0.00", 0.0),
    ("KWD", &[6], "2.5", 0.02, "0.02", 0.02),
    ("KWD", &[1_000_000_000_000], "3.25", 3_250_000_000.0, "3,250,000,000.00", 3_250_000_000.0),
];

#[tokio::test]
async fn amounts_of_each_currency_are_converted_to_dollars() {
    for &(currency, amounts, rate, dollars, shown, average) in WORTH {
        let (server, token) = open().await;
        if currency != "USD" {
            server.set_rates(&[(currency, "2026-01-01", rate)]).await;
        }
        let sales = amounts.iter().enumerate().map(|(at, amount)| Sale {
            id: format!("o{at}"),
            currency,
            amount: *amount,
            day: "2026-03-01",
        });
        sell(&server, &sales.collect::<Vec<_>>()).await;
        let what = format!("{amounts:?} {currency} at {rate}");
        let summary = ask(&server, &token, SUMMARY_PATH, &json!({})).await;
        assert_eq!(kpi(&summary, "salesAmount"), shown, "{what}");
        assert_eq!(
            kpi(&summary, "averageOrderAmount"),
            format!("{average:.2}").replace("3250000000.00", shown),
            "{what}"
        );
        assert_eq!(summary.data()["unconvertedOrders"], 0, "{what}");
        let trend = ask(&server, &token, TREND_PATH, &json!({})).await;
        assert_eq!(trend.data()[0]["amount"], dollars, "{what}");
        let by_device = ask(&server, &token, BY_DEVICE_PATH, &json!({})).await;
        assert_eq!(by_device.data()[0]["salesAmount"], dollars, "{what}");
        let best = ask(&server, &token, BEST_PATH, &json!({})).await;
        assert_eq!(best.data()["salesAmount"], dollars, "{what}");
        assert_eq!(best.data()["averagePrice"], average, "{what}");
        // The same when the range cuts the day, so that its orders are added up one by one: its
        // bounds were widened by a sale that later was none.
        for status in [1, 2] {
            let late = json!({
                "orderId": "late", "deviceCode": currency, "currency": currency,
                "totalAmount": 7, "payStatus": status, "tradeStartTime": "2026-03-01 12:00:00",
                "payEndTime": "2026-03-01 23:00:00",
            });
            server.import_valid(late.to_string()).await;
        }
        let to_noon = json!({"endTimestamp": server.now().0 - 20 * 3_600_000});
        let cut = ask(&server, &token, SUMMARY_PATH, &to_noon).await;
        assert_eq!(kpi(&cut, "salesAmount"), shown, "{what}");
    }
}

/// DASH-9, DASH-18: prices of products are dollars. DASH-23: prices of aisles are minor units.
#[tokio::test]
async fn prices_of_products_are_dollars_and_those_of_aisles_are_not() {
    let (server, token) = open().await;
    server.set_rates(&[("EUR", "2026-01-01", "1.1"), ("JPY", "2026-01-01", "0.0067")]).await;
    let sales = ["JPY", "EUR", "KWD", "USD"].map(|currency| Sale {
        id: currency.to_owned(),
        currency,
        amount: 300,
        day: "2026-03-01",
    });
    sell(&server, &sales).await;
    let best = ask(&server, &token, BEST_PATH, &json!({})).await;
    let ranked: Vec<[Value; 5]> = best.data()["rankList"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| {
            ["goodsId", "price", "defaultPrice", "averagePrice", "salesAmount"]
                .map(|field| of[field].clone())
        })
        .collect();
    let row = |id: &str, price: Value, average: Value, amount: f64| {
        [json!(id), price.clone(), price, average, json!(amount)]
    };
    assert_eq!(
        ranked,
        [
            row("p-EUR", json!(2.75), json!(3.3), 3.3),
            row("p-USD", json!(1.99), json!(3.0), 3.0),
            row("p-JPY", json!(1.04), json!(2.01), 2.01),
            // Null where there is no rate, never an amount in minor units.
            row("p-KWD", json!(null), json!(null), 0.0),
        ]
    );
    let aisles = ask(&server, &token, AISLE_PATH, &json!({})).await;
    for device in aisles.data().as_array().unwrap() {
        let aisle = &device["cabinets"][0]["layers"][0]["aisles"][0];
        let want = match device["deviceCode"].as_str().unwrap() {
            "JPY" => 155,
            "EUR" => 250,
            "KWD" => 1_250,
            _ => 199,
        };
        assert_eq!((&aisle["price"], &aisle["showPrice"]), (&json!(want), &json!(want + 1)));
        assert_eq!(aisle["currency"], device["deviceCode"]);
    }
}

/// DASH-17, DASH-20: amounts that are equal in cents rank alike, whatever they were before
/// rounding.
#[tokio::test]
async fn amounts_that_round_alike_rank_alike() {
    let (server, token) = open().await;
    // 1.40 cents and 1.49 cents.
    server.set_rates(&[("EUR", "2026-01-01", "1.4"), ("JPY", "2026-01-01", "0.0149")]).await;
    let sales = ["JPY", "EUR"].map(|currency| Sale {
        id: currency.to_owned(),
        currency,
        amount: 1,
        day: "2026-03-01",
    });
    sell(&server, &sales).await;
    let by_device = ask(&server, &token, BY_DEVICE_PATH, &json!({})).await;
    let best = ask(&server, &token, BEST_PATH, &json!({})).await;
    for (ranked, field, ids) in [
        (by_device.data(), "deviceCode", ["EUR", "JPY"]),
        (&best.data()["rankList"], "goodsId", ["p-EUR", "p-JPY"]),
    ] {
        for (at, id) in ids.into_iter().enumerate() {
            assert_eq!(
                (&ranked[at][field], &ranked[at]["salesAmount"]),
                (&json!(id), &json!(0.01))
            );
        }
    }
}
