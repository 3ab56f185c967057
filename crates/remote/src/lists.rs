//! The columns of each list, named like the fields of the answers. `reports` has the ones of the
//! dashboard functions.

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The field.
    pub name: &'static str,
    /// How its values are shown to people.
    pub kind: Kind,
    /// Whether a table has it by default.
    pub is_usual: bool,
}

/// How the values of a column are shown to people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// As they are.
    Plain,
    /// Unix milliseconds (FMT-1).
    Instant,
    /// A date string of the platform's zone (FMT-2).
    WallTime,
    /// Minor units of the record's `currency` (FMT-3).
    Minor,
    /// US dollars (DASH-9).
    Dollars,
    /// 0 or 1, or false or true.
    Flag,
    /// The state of a payment (ORD-13).
    PayStatus,
    /// The state of a shipment (ORD-14).
    ShipmentStatus,
}

/// The columns of a list.
pub type List = &'static [Column];

pub(crate) const fn usual(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, is_usual: true }
}

pub(crate) const fn other(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, is_usual: false }
}

/// The stored profiles.
pub const PROFILES: List = &[
    usual("profile", Kind::Plain),
    usual("url", Kind::Plain),
    usual("username", Kind::Plain),
    usual("passwordFile", Kind::Plain),
    usual("passwordCommand", Kind::Plain),
    usual("caFile", Kind::Plain),
];

/// The account and its session.
pub const WHO: List = &[
    usual("profile", Kind::Plain),
    usual("url", Kind::Plain),
    usual("username", Kind::Plain),
    usual("groupId", Kind::Plain),
    usual("groupName", Kind::Plain),
    usual("expiresIn", Kind::Instant),
];

/// The groups of an account.
pub const GROUPS: List = &[
    usual("groupId", Kind::Plain),
    usual("groupName", Kind::Plain),
    usual("isSelected", Kind::Flag),
];

/// List devices (DEV-2).
pub const DEVICES: List = &[
    usual("deviceCode", Kind::Plain),
    usual("groupId", Kind::Plain),
    usual("isOnline", Kind::Flag),
    usual("totalCurrStock", Kind::Plain),
    usual("lastActiveTimestamp", Kind::Instant),
    usual("deviceName", Kind::Plain),
    other("groupName", Kind::Plain),
    other("deviceModel", Kind::Plain),
    other("address", Kind::Plain),
    other("createTimestamp", Kind::Instant),
];

/// List orders (ORD-7), without lines.
pub const ORDERS: List = &[
    usual("tradeStartTime", Kind::WallTime),
    usual("deviceCode", Kind::Plain),
    usual("orderId", Kind::Plain),
    usual("totalAmount", Kind::Minor),
    usual("payAmount", Kind::Minor),
    usual("payStatus", Kind::PayStatus),
    usual("shipmentStatus", Kind::ShipmentStatus),
    usual("tradeNo", Kind::Plain),
    other("tradeNoIn", Kind::Plain),
    other("currency", Kind::Plain),
    other("refundAmount", Kind::Minor),
    other("payChannelName", Kind::Plain),
    other("payEndTime", Kind::WallTime),
    other("payEndDate", Kind::WallTime),
    other("shipmentTime", Kind::WallTime),
    other("cardNumber", Kind::Plain),
    other("phone", Kind::Plain),
];

/// Order changes (ORD-24), without lines.
pub const CHANGES: List = &[
    usual("changeNo", Kind::Plain),
    usual("tradeStartTime", Kind::WallTime),
    usual("deviceCode", Kind::Plain),
    usual("orderId", Kind::Plain),
    usual("totalAmount", Kind::Minor),
    usual("payAmount", Kind::Minor),
    usual("refundAmount", Kind::Minor),
    usual("payStatus", Kind::PayStatus),
    usual("shipmentStatus", Kind::ShipmentStatus),
    other("tradeNo", Kind::Plain),
    other("tradeNoIn", Kind::Plain),
    other("currency", Kind::Plain),
    other("payChannelName", Kind::Plain),
    other("payEndTime", Kind::WallTime),
    other("shipmentTime", Kind::WallTime),
];

/// The lines of an order (ORD-8).
pub const LINES: List = &[
    usual("goodsId", Kind::Plain),
    usual("aisleCode", Kind::Plain),
    usual("count", Kind::Plain),
    usual("goodsPrice", Kind::Minor),
    usual("salePrice", Kind::Minor),
    usual("payAmount", Kind::Minor),
    usual("shipmentStatus", Kind::ShipmentStatus),
    usual("shipmentErrCode", Kind::Plain),
    usual("shipmentFailDesc", Kind::Plain),
    usual("goodsName", Kind::Plain),
];

/// `data` of a call that no other command makes.
pub const ANY: List = &[usual("data", Kind::Plain)];
