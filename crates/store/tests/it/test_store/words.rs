//! Short names for fleets and orders.

use kiosque_model::fleet::{AccountEntry, Aisle, DeviceEntry, GroupEntry, ProductEntry};
use kiosque_model::sales::Sale;
use kiosque_model::{Currency, DeviceCode, GroupId, LoginName, Minor, OrderId, TradeNo, UnixMs};
use kiosque_store::{Incoming, Record};

pub(crate) fn group_id(id: &str) -> GroupId {
    GroupId::parse(id).unwrap()
}

pub(crate) fn group(id: &str) -> GroupEntry {
    GroupEntry { id: group_id(id), name: Some(format!("Group {id}")), active: None }
}

/// An account that may log in.
pub(crate) fn account(name: &str, groups: &[&str]) -> AccountEntry {
    let groups = groups.iter().map(|id| group_id(id)).collect();
    AccountEntry { third_party_api: Some(true), groups: Some(groups), ..known_account(name) }
}

/// Returns an account entry without any field.
pub(crate) fn known_account(name: &str) -> AccountEntry {
    AccountEntry {
        login_name: LoginName::parse(name).unwrap(),
        display_name: None,
        password: None,
        third_party_api: None,
        enabled: None,
        groups: None,
    }
}

pub(crate) fn product(id: &str) -> ProductEntry {
    ProductEntry {
        id: id.to_owned(),
        name: Some(format!("Product {id}")),
        category: None,
        currency: Some(Currency::parse("EUR").unwrap()),
        default_price: None,
    }
}

pub(crate) fn device(code: &str, group: &str) -> DeviceEntry {
    let name = Some(format!("Device {code}"));
    DeviceEntry { name, group: Some(group_id(group)), ..known_device(code) }
}

/// Returns a device entry without any field.
pub(crate) fn known_device(code: &str) -> DeviceEntry {
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

pub(crate) fn aisle(code: &str, goods_id: &str, stock: i64) -> Aisle {
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

/// An order whose head is its id.
pub(crate) fn order(id: &str, device: &str, trade_start: i64) -> Incoming {
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

pub(crate) fn record(head: &str) -> Record {
    Record { shape: 1, head: head.to_owned(), lines: "[]".to_owned(), errors: None }
}

pub(crate) fn number(text: &str) -> Option<TradeNo> {
    Some(TradeNo::parse(text).unwrap())
}

/// Returns an order that is a sale, with a record that encodes it.
pub(crate) fn sold(order: Incoming, sale: Sale) -> Incoming {
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
