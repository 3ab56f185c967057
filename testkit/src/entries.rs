//! Entries of fleets and orders as the store takes them.

use kiosque_model::fleet::{AccountEntry, Aisle, DeviceEntry, GroupEntry, ProductEntry};
use kiosque_model::sales::Sale;
use kiosque_model::{Currency, DeviceCode, GroupId, LoginName, Minor, OrderId, TradeNo, UnixMs};
use kiosque_store::{Incoming, Record};

/// Returns a group's id.
#[must_use]
pub fn group_id(id: &str) -> GroupId {
    GroupId::parse(id).unwrap()
}

/// Returns a group called `Group ID`.
#[must_use]
pub fn group(id: &str) -> GroupEntry {
    GroupEntry { id: group_id(id), name: Some(format!("Group {id}")), active: None }
}

/// Returns an account that may log in to these groups.
#[must_use]
pub fn account(name: &str, groups: &[&str]) -> AccountEntry {
    let groups = groups.iter().map(|id| group_id(id)).collect();
    AccountEntry { third_party_api: Some(true), groups: Some(groups), ..bare_account(name) }
}

/// Returns an account with nothing but its name, which leaves a known one as it is.
#[must_use]
pub fn bare_account(name: &str) -> AccountEntry {
    AccountEntry {
        login_name: LoginName::parse(name).unwrap(),
        display_name: None,
        password: None,
        third_party_api: None,
        enabled: None,
        groups: None,
    }
}

/// Returns a product called `Product ID`, in euros.
#[must_use]
pub fn product(id: &str) -> ProductEntry {
    ProductEntry {
        id: id.to_owned(),
        name: Some(format!("Product {id}")),
        category: None,
        currency: Some(Currency::parse("EUR").unwrap()),
        default_price: None,
    }
}

/// Returns a device called `Device CODE`.
#[must_use]
pub fn device(code: &str, group: &str) -> DeviceEntry {
    let name = Some(format!("Device {code}"));
    DeviceEntry { name, group: Some(group_id(group)), ..bare_device(code) }
}

/// Returns a device with nothing but its code, which leaves a known one as it is.
#[must_use]
pub fn bare_device(code: &str) -> DeviceEntry {
    DeviceEntry {
        code: DeviceCode::parse(code).unwrap(),
        name: None,
        group: None,
        since: None,
        model: None,
        address: None,
        enabled: None,
        aisles: None,
    }
}

/// Returns an aisle with room for 10 items.
#[must_use]
pub fn aisle(code: &str, goods_id: &str, stock: i64) -> Aisle {
    Aisle {
        code: code.to_owned(),
        goods_id: goods_id.to_owned(),
        price: Minor(100),
        show_price: Minor(100),
        stock,
        capacity: 10,
        cabinet: "1".to_owned(),
        layer: 1,
        enabled: true,
        broken: false,
    }
}

/// Returns an order whose head is its id, and which is no sale.
#[must_use]
pub fn order(id: &str, device: &str, trade_start: i64) -> Incoming {
    Incoming {
        device_code: DeviceCode::parse(device).unwrap(),
        order_id: OrderId::parse(id).unwrap(),
        trade_start: UnixMs(trade_start),
        trade_no: None,
        trade_no_in: None,
        nameless_lines: Vec::new(),
        sale: None,
        record: record(id),
    }
}

/// Returns a record with a head and no lines.
#[must_use]
pub fn record(head: &str) -> Record {
    Record { shape: 1, head: head.to_owned(), lines: "[]".to_owned(), errors: None }
}

/// Returns a trade number.
#[must_use]
pub fn trade_no(text: &str) -> Option<TradeNo> {
    Some(TradeNo::parse(text).unwrap())
}

/// Returns the order as a sale, with a record that [`crate::TestShape`] reads.
#[must_use]
pub fn sold(order: Incoming, sale: Sale) -> Incoming {
    let (at, amount, refund) = (sale.at.0, sale.amount.0, sale.refund.0);
    let head = format!("{at}|{}|{amount}|{refund}|{}", sale.currency, sale.shipment.number());
    let lines = sale
        .goods
        .iter()
        .map(|sold| format!("|{}:{}:{}", sold.goods_id, sold.items, sold.amount.0));
    let lines = head + &lines.collect::<String>();
    let record = Record { lines, ..order.record };
    Incoming { sale: Some(sale), record, ..order }
}
