//! The sums of sales: each of their columns is compared with the orders.

use std::sync::Arc;

use kiosque_model::order::ShipmentStatus;
use kiosque_model::sales::Sale;
use kiosque_model::{Minor, UnixMs};
use kiosque_store::{Incoming, OrderOutcome, ReceiveOptions};
use kiosque_testkit::entries::{self, cancelled, order, sold};
use kiosque_testkit::{NOW, TestStore, no_owners};

/// When the sale of `d1` was paid: on 1970-01-01; the sale of `d2` a day later.
const PAID: i64 = 5_000;
const DAY_MS: i64 = 86_400_000;

/// The figures of the sale of `d1`: orders, items, amount, refund, shipped, failed.
const SIX: [i64; 6] = [1, 3, 500, 100, 0, 1];
const COLUMNS: [&str; 6] = ["orders", "items", "amount", "refund", "shipped", "failed"];

fn sale(id: &str, device: &str, at: i64, currency: &str) -> Incoming {
    let sale = entries::sale(at, currency, &[("p", 2, 300), ("q", 1, 200)]);
    let sale = Sale { refund: Minor(100), shipment: ShipmentStatus::Partial, ..sale };
    sold(order(id, device, 10), sale)
}

async fn fixture() -> TestStore {
    let fixture = TestStore::with_fleet().await;
    let sales = [sale("o1", "d1", PAID, "EUR"), sale("o2", "d2", PAID + DAY_MS, "USD")];
    let unpaid = sale("unpaid", "d1", PAID, "EUR").sale.unwrap();
    let unpaid = cancelled(order("unpaid", "d1", 10), unpaid);
    fixture.receive_new(sales.into_iter().chain([unpaid]).collect()).await;
    fixture
}

/// Returns the bytes of parts of a row, as a literal: numbers, or a length and a text.
fn packed(fixture: &TestStore, parts: &[Part<'_>]) -> String {
    fixture.bytes_literal(&bytes_of(parts))
}

#[derive(Clone, Copy)]
enum Part<'a> {
    Numbers(&'a [i64]),
    Text(&'a [u8]),
}

fn bytes_of(parts: &[Part<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        match part {
            Part::Numbers(numbers) => bytes.extend(numbers_of(numbers)),
            Part::Text(text) => {
                bytes.extend(numbers_of(&[i64::try_from(text.len()).unwrap()]));
                bytes.extend(*text);
            }
        }
    }
    bytes
}

fn numbers_of(numbers: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in numbers {
        let mut rest = (number << 1) ^ (number >> 63);
        while rest >= 0x80 {
            bytes.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
            rest >>= 7;
        }
        bytes.push(u8::try_from(rest).unwrap());
    }
    bytes
}

async fn found(planted: &str) -> Vec<String> {
    let fixture = fixture().await;
    fixture.tamper(planted);
    fixture.differences().await
}

fn differs(of: &str, kept: &str, counted: &str) -> String {
    let text = |figures: &str| match figures {
        "" => "nothing".to_owned(),
        figures => format!("[{figures}]"),
    };
    format!("group a, {of}: {} is stored, its orders add up to {}", text(kept), text(counted))
}

fn listed(figures: &[i64]) -> String {
    figures.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

#[tokio::test]
async fn sums_that_are_whole_have_no_differences() {
    let fixture = fixture().await;
    let verified = fixture.store.upkeep().verify().await.unwrap();
    assert_eq!((verified.orders, verified.sums), (3, 12));
    assert_eq!(verified.differences, [""; 0]);
    // Bounds are loose, and a sum of zero equals no sum.
    fixture.tamper("update sales_by_day set first_sale_at_ms = first_sale_at_ms - 1");
    fixture.tamper(
        "insert into sales_by_day values (2, 9, 'EUR', 0, 0, 0, 0, 0, 0, 777600000, 777600000)",
    );
    let none = Part::Numbers(&[3, 0, 0]);
    let (devices, products) = (
        packed(&fixture, &[Part::Numbers(&[3, 0, 0, 0, 0, 0, 0])]),
        packed(
            &fixture,
            &[Part::Text(b"p"), Part::Numbers(&[0, 0]), Part::Text(&bytes_of(&[none]))],
        ),
    );
    fixture.tamper(&format!(
        "insert into sales_by_device values (2, 9, 0, 'EUR', {devices}, {products})"
    ));
    fixture.check().await;
}

#[tokio::test]
async fn each_figure_is_recounted() {
    for (at, column) in COLUMNS.into_iter().enumerate() {
        let mut kept = SIX;
        kept[at] += 1;
        let planted = format!("update sales_by_day set {column} = {column} + 1 where day = 0");
        let want = [differs("1970-01-01: EUR", &listed(&kept), &listed(&SIX))];
        assert_eq!(found(&planted).await, want, "{planted}");
    }
}

/// A sum under another key: of its owner, and of the present one.
#[tokio::test]
async fn each_part_of_a_key_is_recounted() {
    let six = listed(&SIX);
    for (table, before, change, after) in [
        ("sales_by_day", "1970-01-01: EUR", "currency = 'JPY'", "1970-01-01: JPY"),
        ("sales_by_day", "1970-01-01: EUR", "day = 2", "1970-01-03: EUR"),
    ] {
        let planted = format!("update {table} set {change} where day = 0");
        let found = found(&planted).await;
        assert!(found.contains(&differs(before, "", &six)), "{planted}: {found:?}");
        assert!(found.contains(&differs(after, &six, "")), "{planted}: {found:?}");
    }
    for (change, before, after) in [
        ("currency = 'USD'", "1970-01-01: d1, p, EUR", "1970-01-01: d1, p, USD"),
        ("device_block = 1", "1970-01-01: d1, p, EUR", "1970-01-01: unknown device 257, p, EUR"),
        (
            "device_block = 1",
            "1970-01-01: p, device block 0, EUR",
            "1970-01-01: p, device block 1, EUR",
        ),
        ("day = 9", "1970-01-01: d1, p, EUR", "1970-01-10: d1, p, EUR"),
    ] {
        let planted = format!("update sales_by_device set {change} where day = 0");
        let found = found(&planted).await;
        assert!(found.contains(&differs(before, "", "2, 300")), "{planted}: {found:?}");
        assert!(found.contains(&differs(after, "2, 300", "")), "{planted}: {found:?}");
    }
    for (table, columns) in [
        (
            "sales_by_day",
            "day, currency, orders, items, amount, refund, shipped, failed, \
            first_sale_at_ms, last_sale_at_ms",
        ),
        ("sales_by_device", "day, device_block, currency, devices, products"),
    ] {
        // A distributed table moves no row to another group.
        for planted in [
            format!(
                "insert into {table} (group_no, {columns})
                select 2, {columns} from {table} where currency = 'EUR'"
            ),
            format!("delete from {table} where currency = 'USD'"),
        ] {
            assert!(!found(&planted).await.is_empty(), "{planted}");
        }
    }
}

/// Returns the products of the sale of `d1`, with other figures of its `p`: the product with its
/// items and amount, and the device with those.
fn products<'a>(goods_id: &'a [u8], totals: &'a [i64], device: &'a [u8]) -> [Part<'a>; 3] {
    [Part::Text(goods_id), Part::Numbers(totals), Part::Text(device)]
}

#[tokio::test]
async fn each_figure_of_a_device_and_of_a_product_is_recounted() {
    for at in 0..SIX.len() {
        let fixture = fixture().await;
        let mut kept = SIX;
        kept[at] -= 1;
        let devices = packed(&fixture, &[Part::Numbers(&[1]), Part::Numbers(&kept)]);
        fixture.tamper(&format!("update sales_by_device set devices = {devices} where day = 0"));
        let want = [differs("1970-01-01: d1, EUR", &listed(&kept), &listed(&SIX))];
        assert_eq!(fixture.differences().await, want, "{at}");
    }
    let seller = |figures: &[i64]| bytes_of(&[Part::Numbers(figures)]);
    let q = seller(&[1, 1, 200]);
    let q = products(b"q", &[1, 200], &q);
    let (total, of_d1) = ("1970-01-01: p, device block 0, EUR", "1970-01-01: d1, p, EUR");
    let (of_d2, of_r) = ("1970-01-01: d2, p, EUR", "1970-01-01: p2, device block 0, EUR");
    let (whole, none) = ("2, 300", "");
    for (goods_id, totals, device, want) in [
        (&b"p"[..], [1, 300], [1, 2, 300], vec![(total, "1, 300", whole)]),
        (b"p", [2, 299], [1, 2, 300], vec![(total, "2, 299", whole)]),
        (b"p", [2, 300], [1, 1, 300], vec![(of_d1, "1, 300", whole)]),
        (b"p", [2, 300], [1, 2, 299], vec![(of_d1, "2, 299", whole)]),
        (b"p", [2, 300], [2, 2, 300], vec![(of_d1, none, whole), (of_d2, whole, none)]),
        (
            b"p2",
            [2, 300],
            [1, 2, 300],
            vec![
                (total, none, whole),
                (of_r, whole, none),
                (of_d1, none, whole),
                ("1970-01-01: d1, p2, EUR", whole, none),
            ],
        ),
    ] {
        let fixture = fixture().await;
        let device = seller(&device);
        let planted = packed(&fixture, &[products(goods_id, &totals, &device), q].concat());
        fixture.tamper(&format!("update sales_by_device set products = {planted} where day = 0"));
        let want: Vec<String> =
            want.into_iter().map(|(of, kept, counted)| differs(of, kept, counted)).collect();
        assert_eq!(fixture.differences().await, want, "{totals:?}");
    }
}

/// A row that cannot be read is a difference, and the other days are recounted.
#[tokio::test]
async fn sums_that_cannot_be_read_are_a_difference() {
    for column in ["devices", "products"] {
        let fixture = fixture().await;
        fixture.receive_new(vec![sale("o3", "d1", PAID + 40 * DAY_MS, "EUR")]).await;
        let damaged = packed(&fixture, &[Part::Numbers(&[1])]);
        fixture.tamper(&format!("update sales_by_device set {column} = {damaged} where day = 0"));
        fixture.tamper("update sales_by_day set orders = 2 where day = 40");
        let sale = Arc::new(vec![sale("o4", "d1", PAID, "EUR")]);
        let received =
            fixture.store.intake().receive(sale, no_owners(), ReceiveOptions::at(NOW)).await;
        let error = received.unwrap_err().to_string();
        let row = "group number 1, 1970-01-01, device block 0, EUR: 1 bytes that begin with [02]";
        assert!(error.contains(row), "{error}");
        let found = fixture.differences().await;
        let unreadable = "group a, 1970-01-01: cannot be read further: ";
        assert!(found[0].starts_with(unreadable), "{found:?}");
        let recounted = differs("1970-02-10: EUR", "2, 3, 500, 100, 0, 1", &listed(&SIX));
        assert_eq!(found[1..], [recounted], "{column}");
    }
}

/// DASH-17: goods that are no product have a name that a sale gives them.
#[tokio::test]
async fn names_of_goods_are_those_of_sales() {
    for (planted, name, at) in [("goods_name = 'Z'", "Z", 5_000), ("sale_at_ms = 4999", "P", 4_999)]
    {
        let fixture = TestStore::with_fleet().await;
        let mut named = sale("o1", "d1", PAID, "EUR").sale.unwrap();
        named.goods[0].name = Some("P".to_owned());
        fixture.receive_new(vec![sold(order("o1", "d1", 10), named)]).await;
        fixture.check().await;
        fixture.tamper(&format!("update goods_names set {planted}"));
        let at = UnixMs(at).rfc3339();
        let want =
            format!("group a: p is named {name:?} by a sale at {at}, and no such sale is stored");
        assert_eq!(fixture.differences().await, [want], "{planted}");
    }
}

/// DASH-17: goods that sales name have a name, unless they are a product or no sale names them now.
#[tokio::test]
async fn goods_that_sales_name_have_a_name() {
    let named = |id: &str, goods_ids: &[&str]| {
        let goods: Vec<_> = goods_ids.iter().map(|id| (*id, 1, 100)).collect();
        let mut sale = entries::sale(PAID, "EUR", &goods);
        sale.goods.iter_mut().for_each(|sold| sold.name = Some("N".to_owned()));
        sold(order(id, "d1", 10), sale)
    };
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(vec![named("o1", &["p", "q", "r"]), named("o2", &["q", "s"])]).await;
    let unnamed = sold(order("o2", "d1", 10), entries::sale(PAID, "EUR", &[("t", 1, 100)]));
    assert_eq!(fixture.receive(vec![unnamed]).await, [OrderOutcome::Updated]);
    fixture.check().await;
    fixture.tamper("delete from goods_names where goods_id <> 'r'");
    let want = "group a: sales name q, and no name of it is stored";
    assert_eq!(fixture.differences().await, [want]);
}

/// The row of a day has loose bounds of its sale times.
#[tokio::test]
async fn bounds_hold_every_sale_and_stay_within_their_day() {
    for (planted, bounds) in [
        ("first_sale_at_ms = 5001", "1970-01-01T00:00:05.001Z to 1970-01-01T00:00:05.000Z"),
        ("last_sale_at_ms = 4999", "1970-01-01T00:00:05.000Z to 1970-01-01T00:00:04.999Z"),
        ("first_sale_at_ms = -1", "1969-12-31T23:59:59.999Z to 1970-01-01T00:00:05.000Z"),
        ("last_sale_at_ms = 86400000", "1970-01-01T00:00:05.000Z to 1970-01-02T00:00:00.000Z"),
    ] {
        let found = found(&format!("update sales_by_day set {planted} where day = 0")).await;
        let want = format!("group a, 1970-01-01: EUR: {bounds} are no bounds of its sales");
        assert_eq!(found, [want], "{planted}");
    }
    // Each currency has its own.
    let fixture = fixture().await;
    fixture.receive_new(vec![sale("o3", "d1", PAID + 9, "USD")]).await;
    fixture.tamper(
        "update sales_by_day set last_sale_at_ms = 4999 where day = 0 and currency = 'EUR'",
    );
    assert_eq!(fixture.differences().await.len(), 1);
}
