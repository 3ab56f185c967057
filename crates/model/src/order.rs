//! What an order is, and what follows when a report leaves a field out.

use crate::ids::{DeviceCode, OrderId, TradeNo};
use crate::money::{Currency, MINOR_MAX, Minor};
use crate::time::UnixMs;

/// The largest count of one line that is believed.
pub const COUNT_MAX: i64 = 1_000_000;

/// An order as told by a report: checked, with every default filled in that does not depend on
/// what is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// Identity within the group.
    pub order_id: OrderId,
    /// The device that sold; decides, with the trade's start, whose order it is.
    pub device_code: DeviceCode,
    /// External trade number; `None` is the empty string in JSON (ORD-10).
    pub trade_no: Option<TradeNo>,
    /// Internal trade number; `None`: made from the order's id, or stays what it was.
    pub trade_no_in: Option<TradeNo>,
    /// Of every amount of the order, its lines included.
    pub currency: Currency,
    /// What the order costs.
    pub total_amount: Minor,
    /// What was paid.
    pub pay_amount: Minor,
    /// What was given back.
    pub refund_amount: Minor,
    /// Payment's state.
    pub pay_status: PayStatus,
    /// Shipment's state.
    pub shipment_status: ShipmentStatus,
    /// How it was paid.
    pub pay_channel_name: Option<String>,
    /// When the trade started.
    pub trade_start: UnixMs,
    /// When it was paid.
    pub pay_end: Option<UnixMs>,
    /// When it was shipped.
    pub shipment: Option<UnixMs>,
    /// Masked.
    pub card_number: Option<String>,
    /// Masked.
    pub phone: Option<String>,
    /// What was sold.
    pub lines: Vec<Line>,
}

/// One line of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The product; may be one that nobody told us of, or empty for an aisle that nobody filled in.
    pub goods_id: String,
    /// Its name as of the sale; `None`: the product's name, or what is stored already.
    pub goods_name: Option<String>,
    /// The aisle it came from.
    pub aisle_code: String,
    /// How many.
    pub count: i64,
    /// List price of one.
    pub goods_price: Minor,
    /// Price of one as sold.
    pub sale_price: Minor,
    /// What was paid for the line.
    pub pay_amount: Minor,
    /// Shipment's state.
    pub shipment_status: ShipmentStatus,
    /// 0: no fault.
    pub shipment_err_code: i64,
    /// The fault in words.
    pub shipment_fail_desc: Option<String>,
}

macro_rules! status {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $number:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_doc])* $variant = $number,)* }

        impl $name {
            /// The status of a number that travels.
            #[must_use]
            pub const fn of(number: i64) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }

            /// The number that travels.
            #[must_use]
            pub const fn number(self) -> i64 {
                self as i64
            }
        }
    };
}

status!(
    /// Payment's state.
    PayStatus {
        /// Not paid yet.
        Unpaid = 0,
        /// Paid.
        Paid = 1,
        /// Given up before payment.
        Cancelled = 2,
        /// Money is on its way back.
        Refunding = 3,
        /// Money is back.
        Refunded = 4,
    }
);

status!(
    /// Shipment's state.
    ShipmentStatus {
        /// Nothing shipped yet.
        None = 0,
        /// All shipped.
        Success = 1,
        /// Under way.
        InProgress = 2,
        /// Nothing came out.
        Failed = 3,
        /// Some of it came out.
        Partial = 4,
    }
);

impl PayStatus {
    /// The state when a report does not tell: paid once there is a payment time.
    #[must_use]
    pub const fn following(pay_end: Option<UnixMs>) -> PayStatus {
        if pay_end.is_some() { PayStatus::Paid } else { PayStatus::Unpaid }
    }
}

impl ShipmentStatus {
    /// The state when a report does not tell: shipped once there is a shipment time.
    #[must_use]
    pub const fn following(shipment: Option<UnixMs>) -> ShipmentStatus {
        if shipment.is_some() { ShipmentStatus::Success } else { ShipmentStatus::None }
    }
}

/// What was paid when a report does not tell: the whole once there is a payment time, else nothing.
#[must_use]
pub const fn pay_amount_following(pay_end: Option<UnixMs>, total: Minor) -> Minor {
    if pay_end.is_some() { total } else { Minor(0) }
}

/// What was paid for a line when a report does not tell; `None` when that is beyond belief.
#[must_use]
pub fn line_pay_amount_following(sale_price: Minor, count: i64) -> Option<Minor> {
    let amount = sale_price.0.checked_mul(count)?;
    (amount.abs() <= MINOR_MAX).then_some(Minor(amount))
}
