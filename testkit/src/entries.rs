//! Entries of fleets and orders, as taken by the store.

use kiosque_contract::OrderRecord;
use kiosque_model::fleet::{AccountEntry, Aisle, DeviceEntry, GroupEntry, ProductEntry};
use kiosque_model::order::{Line, Order, PayStatus, ShipmentStatus};
use kiosque_model::sales::{Rate, Sale, Sold};
use kiosque_model::{
    Currency, Day, DeviceCode, GroupId, LoginName, Minor, OrderId, PageRequest, TradeNo, UnixMs,
    Zone,
};
use kiosque_store::{DatedRate, DeviceQuery, Heartbeat, Incoming, ProductNames};

/// Returns a group's id.
pub fn group_id(id: &str) -> GroupId {
    GroupId::parse(id).unwrap()
}

/// Returns a group called `Group ID`.
pub fn group(id: &str) -> GroupEntry {
    GroupEntry { id: group_id(id), name: Some(format!("Group {id}")), active: None }
}

/// Returns an account that may log in to these groups.
pub fn account(name: &str, groups: &[&str]) -> AccountEntry {
    let groups = groups.iter().map(|id| group_id(id)).collect();
    AccountEntry { third_party_api: Some(true), groups: Some(groups), ..bare_account(name) }
}

/// Returns an account that only has its name, which does not change a known one.
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
pub fn device(code: &str, group: &str) -> DeviceEntry {
    let name = Some(format!("Device {code}"));
    DeviceEntry { name, group: Some(group_id(group)), ..bare_device(code) }
}

/// Returns a device that only has its code, which does not change a known one.
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

/// Returns a device that moves to a group, at a time or when it is applied.
pub fn moved(code: &str, group: &str, since: Option<i64>) -> DeviceEntry {
    let (group, since) = (Some(group_id(group)), since.map(UnixMs));
    DeviceEntry { group, since, ..bare_device(code) }
}

/// Returns an aisle with a capacity of 10 items.
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

/// Returns the query of the first `size` devices of the selected group, without a filter.
pub fn first_devices(size: i64) -> DeviceQuery {
    let page = PageRequest::new(1, size).unwrap();
    DeviceQuery { group: None, code: None, name_part: None, is_online: None, page }
}

/// Returns an unpaid order whose title is its id.
pub fn order(id: &str, device: &str, trade_start: i64) -> Incoming {
    rendered(bare_order(id, device, trade_start))
}

/// Returns the order that [`order`] renders.
pub fn bare_order(id: &str, device: &str, trade_start: i64) -> Order {
    let order_id = OrderId::parse(id).unwrap();
    let device_code = DeviceCode::parse(device).unwrap();
    let currency = Currency::parse("EUR").unwrap();
    let order = Order::unpaid(order_id, device_code, currency, Minor(0), UnixMs(trade_start));
    Order { pay_channel_name: Some(id.to_owned()), ..order }
}

/// Returns a line of an order.
pub fn line(goods_id: &str, name: Option<&str>, count: i64, paid: Minor) -> Line {
    Line {
        goods_id: goods_id.to_owned(),
        goods_name: name.map(str::to_owned),
        aisle_code: String::new(),
        count,
        goods_price: paid,
        sale_price: paid,
        pay_amount: paid,
        shipment_status: ShipmentStatus::None,
        shipment_err_code: 0,
        shipment_fail_desc: None,
    }
}

/// Returns an order as taken by the store, in UTC and without product names.
pub fn rendered(order: Order) -> Incoming {
    rendered_in(&Zone::utc(), order)
}

fn rendered_in(zone: &Zone, order: Order) -> Incoming {
    Incoming::of(order, zone, &ProductNames::new()).unwrap()
}

/// Returns the unpaid order with another title.
pub fn titled(order: Incoming, title: &str) -> Incoming {
    let bare = bare_order(order.order_id.as_str(), order.device_code.as_str(), order.trade_start.0);
    let pay_channel_name = Some(title.to_owned());
    Incoming { record: rendered(Order { pay_channel_name, ..bare }).record, ..order }
}

/// Returns the title of an order: its `payChannelName`, by which tests distinguish texts.
pub fn title(record: &OrderRecord) -> String {
    record.head.pay_channel_name.clone().unwrap()
}

/// Returns a trade number.
pub fn trade_no(text: &str) -> Option<TradeNo> {
    Some(TradeNo::parse(text).unwrap())
}

/// Returns a heartbeat.
#[must_use]
pub fn beat(code: &str, at: UnixMs) -> Heartbeat {
    Heartbeat { device_code: DeviceCode::parse(code).unwrap(), at }
}

/// Returns the rate of a currency from a day on.
#[must_use]
pub fn rate(code: &str, day: i64, text: &str) -> DatedRate {
    let (currency, rate) = (Currency::parse(code).unwrap(), Rate::parse(text).unwrap());
    DatedRate { day: Day(day), currency, rate }
}

/// Returns a sale that was shipped, of goods with their id, items and amount.
#[must_use]
pub fn sale(at: i64, currency: &str, goods: &[(&str, i64, i64)]) -> Sale {
    let goods = goods.iter().map(|&(goods_id, items, amount)| Sold {
        goods_id: goods_id.to_owned(),
        items,
        amount: Minor(amount),
        name: None,
    });
    let goods: Vec<Sold> = goods.collect();
    Sale {
        at: UnixMs(at),
        currency: Currency::parse(currency).unwrap(),
        amount: Minor(goods.iter().map(|sold| sold.amount.0).sum()),
        refund: Minor(0),
        shipment: ShipmentStatus::Success,
        goods,
    }
}

/// Returns the order as a sale.
pub fn sold(order: Incoming, sale: Sale) -> Incoming {
    sold_in(&Zone::utc(), order, sale)
}

/// Returns the order as a sale of a store in a time zone.
pub fn sold_in(zone: &Zone, order: Incoming, sale: Sale) -> Incoming {
    with_sale(zone, order, sale, PayStatus::Paid)
}

/// Returns the order as cancelled after it was paid.
pub fn cancelled(order: Incoming, sale: Sale) -> Incoming {
    with_sale(&Zone::utc(), order, sale, PayStatus::Cancelled)
}

fn with_sale(zone: &Zone, order: Incoming, sale: Sale, pay_status: PayStatus) -> Incoming {
    let mut json = Vec::new();
    order.put_list_record(&mut json);
    let title = title(&serde_json::from_slice(&json).unwrap());
    let lines = sale.goods.iter();
    let lines =
        lines.map(|sold| line(&sold.goods_id, sold.name.as_deref(), sold.items, sold.amount));
    let bare = bare_order(order.order_id.as_str(), order.device_code.as_str(), order.trade_start.0);
    let order = Order {
        trade_no: order.trade_no,
        trade_no_in: order.trade_no_in,
        currency: sale.currency,
        total_amount: sale.amount,
        pay_amount: sale.amount,
        refund_amount: sale.refund,
        pay_status,
        shipment_status: sale.shipment,
        pay_channel_name: Some(title),
        pay_end: Some(sale.at),
        lines: lines.collect(),
        ..bare
    };
    rendered_in(zone, order)
}
