//! Prices in dollars (DASH-9), and amounts that are equal once rounded (DASH-13). The sums
//! are in `recount`.

use kiosque_testkit::{AISLE_PATH, BEST_PATH, BY_DEVICE_PATH, FleetToml, OrderLine, TestServer};
use serde_json::{Value, json};

use super::ask;

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

/// Starts a server with rates, on which a device for each of some currencies sells its product for
/// this amount.
async fn open(
    rates: &[(&str, &str, &str)],
    currencies: &[&str],
    amount: i64,
) -> (TestServer, String) {
    let server = TestServer::start(&fleet()).await;
    server.set_rates(rates).await;
    let order = |currency: &&str| {
        let start = "2026-03-01 12:00:00";
        let lines = json!([{"goodsId": format!("p-{currency}"), "salePrice": amount}]);
        let order = OrderLine::new(currency, currency, start).amount(currency, amount).paid(start);
        order.with("detailVOList", lines).to_string()
    };
    server.import_valid(currencies.iter().map(order).collect::<String>()).await;
    let token = server.log_in("ops").await.token;
    (server, token)
}

/// DASH-9, DASH-18: prices of products are dollars. DASH-23: prices of aisles are minor units.
#[tokio::test]
async fn prices_of_products_are_dollars_and_those_of_aisles_are_not() {
    let rates = [("EUR", "2026-01-01", "1.1"), ("JPY", "2026-01-01", "0.0067")];
    let (server, token) = open(&rates, &["JPY", "EUR", "KWD", "USD"], 300).await;
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
    // 1.40 cents and 1.49 cents.
    let rates = [("EUR", "2026-01-01", "1.4"), ("JPY", "2026-01-01", "0.0149")];
    let (server, token) = open(&rates, &["JPY", "EUR"], 1).await;
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
