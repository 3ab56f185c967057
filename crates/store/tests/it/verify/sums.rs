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

/// Returns the bytes of numbers in a row of a month, as a literal.
fn packed(fixture: &TestStore, numbers: &[i64]) -> String {
    let mut bytes = Vec::new();
    for number in numbers {
        let mut rest = (number << 1) ^ (number >> 63);
        while rest >= 0x80 {
            bytes.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
            rest >>= 7;
        }
        bytes.push(u8::try_from(rest).unwrap());
    }
    fixture.bytes_literal(&bytes)
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
    assert_eq!((verified.orders, verified.sums), (3, 12));
    assert_eq!(verified.differences, [""; 0]);
    // Bounds are loose, and a sum of zero equals no sum.
    fixture.tamper("update sales_by_day set first_sale_at_ms = first_sale_at_ms - 1");
    fixture.tamper(
        "insert into sales_by_day values (2, 9, 'EUR', 0, 0, 0, 0, 0, 0, 777600000, 777600000)",
    );
    let zeros = packed(&fixture, &[9, 0, 0, 0, 0, 0, 0]);
    fixture.tamper(&format!("insert into device_months values (2, 0, 3, 'EUR', {zeros})"));
    let (zeros, none) = (packed(&fixture, &[9, 0, 0]), packed(&fixture, &[]));
    fixture.tamper(&format!(
        "insert into product_months values (2, 0, 'p', 0, 'EUR', {zeros}, {none})"
    ));
    fixture.tamper("insert into sales_by_product values (2, 9, 3, 'p', 'EUR', 0, 0)");
    assert_eq!(fixture.store.verify().await.unwrap().differences, [""; 0]);
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
        ("device_no = 99", "1970-01-01: unknown device 99, p, EUR"),
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
            "day, currency, orders, items, amount, refund, shipped, failed, \
            first_sale_at_ms, last_sale_at_ms",
        ),
        ("sales_by_product", "day, device_no, goods_id, currency, items, amount"),
        ("device_months", "month, device_no, currency, days"),
        ("product_months", "month, goods_id, device_block, currency, days, devices"),
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

/// The tables of months, each with a row of the first order, the parts of its key, and its figures.
const MONTHS: [(&str, &str, &str, &[i64]); 2] = [
    ("device_months", "device_no = 1", "d1, EUR", &SIX),
    ("product_months", "goods_id = 'p' and currency = 'EUR'", "p, device block 0, EUR", &[2, 300]),
];

#[tokio::test]
async fn each_figure_and_day_of_a_month_is_recounted() {
    for (table, row, of, figures) in MONTHS {
        for at in 0..figures.len() {
            let fixture = fixture().await;
            let mut kept = figures.to_vec();
            kept[at] -= 1;
            let days = packed(&fixture, &[&[0], kept.as_slice()].concat());
            fixture.tamper(&format!("update {table} set days = {days} where {row}"));
            let want = [differs(&format!("1970-01-01: {of}"), &listed(&kept), &listed(figures))];
            assert_eq!(fixture.store.verify().await.unwrap().differences, want, "{table} {at}");
        }
        let fixture = fixture().await;
        let days = packed(&fixture, &[&[2], figures].concat());
        fixture.tamper(&format!("update {table} set days = {days} where {row}"));
        let want = [
            differs(&format!("1970-01-01: {of}"), "", &listed(figures)),
            differs(&format!("1970-01-03: {of}"), &listed(figures), ""),
        ];
        assert_eq!(fixture.store.verify().await.unwrap().differences, want, "{table}");
    }
}

#[tokio::test]
async fn each_part_of_the_key_of_a_month_is_recounted() {
    for (table, row, of, figures) in MONTHS {
        for (change, from, to) in [
            ("currency = 'JPY'", "EUR", "JPY"),
            ("device_no = 2", "d1", "d2"),
            ("goods_id = 'r'", "p,", "r,"),
            ("device_block = 1", "block 0", "block 1"),
            ("month = 31", "1970-01-01", "1970-02-01"),
        ] {
            let before = format!("1970-01-01: {of}");
            if !before.contains(from) {
                continue;
            }
            let planted = format!("update {table} set {change} where {row}");
            let (found, figures) = (found(&planted).await, listed(figures));
            let after = differs(&before.replace(from, to), &figures, "");
            assert!(found.contains(&differs(&before, "", &figures)), "{planted}: {found:?}");
            assert!(found.contains(&after), "{planted}: {found:?}");
        }
    }
}

#[tokio::test]
async fn the_devices_that_sold_a_product_are_recounted() {
    let seller = |of: &str| {
        format!("group a, {of}: the device is stored as a seller, its orders have no items")
    };
    let none = |of: &str| {
        format!("group a, {of}: the device is not stored as a seller, its orders have items")
    };
    // Each device with its distance from the one before, and a bit for each of its days.
    for (devices, want) in [
        (&[][..], vec![none("1970-01-01: d1, p, EUR")]),
        (&[1, 1, 1, 1], vec![seller("1970-01-01: d2, p, EUR")]),
        (&[1, 5], vec![seller("1970-01-03: d1, p, EUR")]),
        (&[2, 1], vec![none("1970-01-01: d1, p, EUR"), seller("1970-01-01: d2, p, EUR")]),
    ] {
        let fixture = fixture().await;
        let packed = packed(&fixture, devices);
        let row = "goods_id = 'p' and currency = 'EUR'";
        fixture.tamper(&format!("update product_months set devices = {packed} where {row}"));
        assert_eq!(fixture.store.verify().await.unwrap().differences, want, "{devices:?}");
    }
}

/// A row that cannot be read is a difference, and the other months are recounted.
#[tokio::test]
async fn a_month_that_cannot_be_read_is_a_difference() {
    for (table, column) in
        [("device_months", "days"), ("product_months", "days"), ("product_months", "devices")]
    {
        let fixture = fixture().await;
        fixture.receive_new(vec![sale("o3", "d1", PAID + 40 * DAY_MS, "EUR")]).await;
        let damaged = packed(&fixture, &[1]);
        fixture.tamper(&format!("update {table} set {column} = {damaged} where month = 0"));
        fixture.tamper("update sales_by_day set orders = 2 where day = 40");
        let found = fixture.store.verify().await.unwrap().differences;
        let unreadable = "group a, the month of 1970-01-01: cannot be read further: ";
        assert!(found[0].starts_with(unreadable), "{found:?}");
        let recounted = differs("1970-02-10: EUR", "2, 3, 500, 100, 0, 1", &listed(&SIX));
        assert_eq!(found[1..], [recounted], "{table}");
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
