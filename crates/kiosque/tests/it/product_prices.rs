//! Products without a default price (DASH-18), and how they get one.

use kiosque_testkit::{BEST_PATH, Sandbox};
use serde_json::{Value, json};

use crate::KIOSQUE;
use crate::fleet::fleet;

const MAPPING: &str = "[amount]\nunit = \"minor\"\n[order]\norderId = \"{Id}\"\n\
    deviceCode = \"D1\"\ncurrency = \"USD\"\ntotalAmount = \"{Price}\"\n\
    tradeStartTime = \"2026-01-02\"\npayEndTime = \"2026-01-02\"\n\
    [line]\ngoodsId = \"{Goods}\"\nsalePrice = \"{Price}\"\n[create.product]\n";
const REPORT: &str = "Id,Goods,Price,List\n1,tea,120,150\n2,tea,130,160\n3,water,5,0\n";

fn import(sandbox: &Sandbox, mapping: &str) -> [usize; 4] {
    let (mapping, report) =
        (sandbox.file("mapping.toml", mapping), sandbox.file("report.csv", REPORT));
    sandbox.run(&["import", "orders", &report, "--map", &mapping]).success().counts()
}

/// Returns `goodsId`, `price` and `defaultPrice` of the products that sold best.
fn prices(sandbox: &Sandbox) -> Vec<Value> {
    let served = sandbox.serve();
    let (mut caller, token) = served.log_in("walker");
    let range = json!({"startTimestamp": 1_767_225_600_000_i64}).to_string();
    let reply = caller.call(BEST_PATH, Some(&token), &range);
    let ranked = reply.success()["rankList"].as_array().unwrap();
    let shown = ranked.iter().map(|one| json!([one["goodsId"], one["price"], one["defaultPrice"]]));
    shown.collect()
}

fn listed(sandbox: &Sandbox) -> Vec<Value> {
    let listed = sandbox.json(&["product", "list"]);
    let products = listed.as_array().unwrap().iter();
    products.map(|one| json!([one["goodsId"], one["defaultPrice"]])).collect()
}

/// A product that was created without a price has none, until an import or an apply gives it one.
/// A price of 0 is a price.
#[test]
fn a_product_without_a_price_gets_one_later() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    assert_eq!(import(&sandbox, MAPPING), [3, 0, 0, 0]);
    let none = [json!(["tea", null, null]), json!(["water", null, null])];
    assert_eq!(prices(&sandbox), none);
    let cola = json!(["cola", null]);
    assert_eq!(listed(&sandbox), [cola.clone(), json!(["tea", null]), json!(["water", null])]);

    // The orders are stored already; the first price counts.
    let priced = format!("{MAPPING}default_price = \"{{List}}\"\n");
    assert_eq!(import(&sandbox, &priced), [0, 0, 3, 0]);
    let known = [json!(["tea", 1.5, 1.5]), json!(["water", 0.0, 0.0])];
    assert_eq!(prices(&sandbox), known);
    // A known price stays.
    let other = format!("{MAPPING}default_price = \"9\"\nname = \"Other\"\n");
    assert_eq!(import(&sandbox, &other), [0, 0, 3, 0]);
    assert_eq!(prices(&sandbox), known);

    let exported = sandbox.run(&["fleet", "export"]).success().stdout;
    let ran = sandbox.apply(exported);
    assert!(ran.stdout.contains("products: 0 created, 0 changed, 3 unchanged"), "{}", ran.stdout);
    let ran = sandbox.apply("[[product]]\nid = \"cola\"\ndefault_price = 0\n");
    assert!(ran.stdout.contains("products: 0 created, 1 changed, 0 unchanged"), "{}", ran.stdout);
    assert_eq!(listed(&sandbox)[0], json!(["cola", 0]));
}
