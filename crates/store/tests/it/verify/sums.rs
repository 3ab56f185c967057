//! The sums of sales: each of their columns is compared with the orders.

use kiosque_model::order::ShipmentStatus;
use kiosque_model::sales::{Sale, Sold};
use kiosque_model::{Currency, Minor, UnixMs};
use kiosque_store::Incoming;
use kiosque_testkit::TestStore;
use kiosque_testkit::entries::{cancelled, order, sold};

/// When the sale of `d1` was paid: on 1970-01-01; that of `d2` a day later.
const PAID: i64 = 5_000;
const DAY_MS: i64 = 86_400_000;

/// The figures of the sale of `d1`: orders, items, amount, refund, shipped, failed.
const SIX: [i64; 6] = [1, 3, 500, 100, 0, 1];
const COLUMNS: [&str; 6] = ["orders", "items", "amount", "refund", "shipped", "failed"];

fn sale(id: &str, device: &str, at: i64, currency: &str) -> Incoming {
    let good = |goods_id: &str, items: i64, amount: i64| Sold {
        goods_id: goods_id.to_owned(),
        items,
        amount: Minor(amount),
        name: None,
    };
    let sale = Sale {
        at: UnixMs(at),
        currency: Currency::parse(currency).unwrap(),
        amount: Minor(500),
        refund: Minor(100),
        shipment: ShipmentStatus::Partial,
        goods: vec![good("p", 2, 300), good("q", 1, 200)],
    };
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

async fn found(planted: &str) -> Vec<String> {
    let fixture = fixture().await;
    fixture.tamper(planted);
    fixture.store.verify().await.unwrap().differences
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
    let verified = fixture.store.verify().await.unwrap();
    assert_eq!((verified.orders, verified.sums), (3, 8));
    assert_eq!(verified.differences, [""; 0]);
    // Bounds are loose, and a sum of zero equals no sum.
    fixture.tamper("update sales_by_day set first_sale_at_ms = first_sale_at_ms - 1");
    fixture.tamper(
        "insert into sales_by_day values (2, 9, 'EUR', 0, 0, 0, 0, 0, 0, 777600000, 777600000)",
    );
    fixture.tamper("insert into sales_by_device values (2, 9, 3, 'EUR', 0, 0, 0, 0, 0, 0)");
    fixture.tamper("insert into sales_by_product values (2, 9, 3, 'p', 'EUR', 0, 0)");
    assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
}

#[tokio::test]
async fn each_figure_is_recounted() {
    for (table, of) in
        [("sales_by_day", "1970-01-01: EUR"), ("sales_by_device", "1970-01-01: d1, EUR")]
    {
        for (at, column) in COLUMNS.into_iter().enumerate() {
            let mut kept = SIX;
            kept[at] += 1;
            let planted = format!("update {table} set {column} = {column} + 1 where day = 0");
            let want = [differs(of, &listed(&kept), &listed(&SIX))];
            assert_eq!(found(&planted).await, want, "{planted}");
        }
    }
    for (column, kept) in [("items", "1, 300"), ("amount", "2, 299")] {
        let planted = format!(
            "update sales_by_product set {column} = {column} - 1 where day = 0 and goods_id = 'p'"
        );
        let want = [differs("1970-01-01: d1, p, EUR", kept, "2, 300")];
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
        ("sales_by_device", "1970-01-01: d1, EUR", "currency = 'USD'", "1970-01-01: d1, USD"),
        ("sales_by_device", "1970-01-01: d1, EUR", "device_no = 2", "1970-01-01: d2, EUR"),
        (
            "sales_by_device",
            "1970-01-01: d1, EUR",
            "device_no = 99",
            "1970-01-01: unknown device 99, EUR",
        ),
        ("sales_by_device", "1970-01-01: d1, EUR", "day = 2", "1970-01-03: d1, EUR"),
    ] {
        let planted = format!("update {table} set {change} where day = 0");
        let found = found(&planted).await;
        assert!(found.contains(&differs(before, "", &six)), "{planted}: {found:?}");
        assert!(found.contains(&differs(after, &six, "")), "{planted}: {found:?}");
    }
    for (change, after) in [
        ("goods_id = 'r'", "1970-01-01: d1, r, EUR"),
        ("currency = 'USD'", "1970-01-01: d1, p, USD"),
        ("device_no = 2", "1970-01-01: d2, p, EUR"),
        ("day = 1", "1970-01-02: d1, p, EUR"),
    ] {
        let planted =
            format!("update sales_by_product set {change} where day = 0 and goods_id = 'p'");
        let found = found(&planted).await;
        let before = differs("1970-01-01: d1, p, EUR", "", "2, 300");
        assert!(found.contains(&before), "{planted}: {found:?}");
        assert!(found.contains(&differs(after, "2, 300", "")), "{planted}: {found:?}");
    }
    for (table, columns) in [
        (
            "sales_by_day",
            "currency, orders, items, amount, refund, shipped, failed, \
            first_sale_at_ms, last_sale_at_ms",
        ),
        ("sales_by_device", "device_no, currency, orders, items, amount, refund, shipped, failed"),
        ("sales_by_product", "device_no, goods_id, currency, items, amount"),
    ] {
        // A distributed table moves no row to another group.
        for planted in [
            format!(
                "insert into {table} (group_no, day, {columns})
                select 2, day, {columns} from {table} where day = 0"
            ),
            format!("delete from {table} where day = 1"),
        ] {
            assert!(!found(&planted).await.is_empty(), "{planted}");
        }
    }
}

/// The row of a day has loose bounds of its sale times.
#[tokio::test]
async fn bounds_hold_every_sale_and_stay_within_their_day() {
    for (planted, bounds) in [
        ("first_sale_at_ms = 5001", "5001 to 5000"),
        ("last_sale_at_ms = 4999", "5000 to 4999"),
        ("first_sale_at_ms = -1", "-1 to 5000"),
        ("last_sale_at_ms = 86400000", "5000 to 86400000"),
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
    assert_eq!(fixture.store.verify().await.unwrap().differences.len(), 1);
}
