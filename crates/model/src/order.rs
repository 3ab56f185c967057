//! Orders, and the defaults of fields that a report omits.

use crate::ids::{DeviceCode, OrderId, TradeNo};
use crate::money::{Currency, MINOR_MAX, Minor};
use crate::time::UnixMs;

/// Largest accepted count of a line.
pub const COUNT_MAX: i64 = 1_000_000;

/// An order of a report: validated, and complete but for defaults that depend on stored data.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// Identity within the group.
    pub order_id: OrderId,
    /// Device; with the start of the trade, it determines the owning group.
    pub device_code: DeviceCode,
    /// External trade number; `None` is the empty string in JSON (ORD-10).
    pub trade_no: Option<TradeNo>,
    /// Internal trade number; `None` keeps the stored one, or derives it from the order ID.
    pub trade_no_in: Option<TradeNo>,
    /// Currency of all amounts of the order and its lines.
    pub currency: Currency,
    /// Price of the order.
    pub total_amount: Minor,
    /// Amount paid.
    pub pay_amount: Minor,
    /// Amount refunded.
    pub refund_amount: Minor,
    /// Payment state.
    pub pay_status: PayStatus,
    /// Shipment state.
    pub shipment_status: ShipmentStatus,
    /// Name of the payment channel.
    pub pay_channel_name: Option<String>,
    /// Start of the trade.
    pub trade_start: UnixMs,
    /// Time of the payment.
    pub pay_end: Option<UnixMs>,
    /// Time of the shipment.
    pub shipment: Option<UnixMs>,
    /// Card number, masked.
    pub card_number: Option<String>,
    /// Phone number, masked.
    pub phone: Option<String>,
    /// Lines.
    pub lines: Vec<Line>,
}

impl Order {
    /// Returns an unpaid order with these fields, without lines and optional fields. It is the base
    /// of orders that do not come from a report.
    pub const fn unpaid(
        order_id: OrderId,
        device_code: DeviceCode,
        currency: Currency,
        total_amount: Minor,
        trade_start: UnixMs,
    ) -> Order {
        Order {
            order_id,
            device_code,
            trade_no: None,
            trade_no_in: None,
            currency,
            total_amount,
            pay_amount: Minor(0),
            refund_amount: Minor(0),
            pay_status: PayStatus::Unpaid,
            shipment_status: ShipmentStatus::None,
            pay_channel_name: None,
            trade_start,
            pay_end: None,
            shipment: None,
            card_number: None,
            phone: None,
            lines: Vec::new(),
        }
    }
}

/// A line of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Product; may be unknown, or empty for an aisle without a product.
    pub goods_id: String,
    /// Product name at the sale; `None` keeps the stored one, or takes the product's name.
    pub goods_name: Option<String>,
    /// Aisle.
    pub aisle_code: String,
    /// Number of items.
    pub count: i64,
    /// List price of an item.
    pub goods_price: Minor,
    /// Price of an item as sold.
    pub sale_price: Minor,
    /// Amount paid for the line.
    pub pay_amount: Minor,
    /// Shipment state.
    pub shipment_status: ShipmentStatus,
    /// Error code; 0 without an error.
    pub shipment_err_code: i64,
    /// Description of the error.
    pub shipment_fail_desc: Option<String>,
}

macro_rules! status {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$variant_doc:meta])* $variant:ident = $number:literal $word:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_doc])* $variant = $number,)* }

        impl $name {
            /// Every state, by its number.
            pub const ALL: &[$name] = &[$($name::$variant,)*];
            /// The words for the states, indexed by number.
            pub const WORDS: &[&str] = &[$($word,)*];

            /// Returns the status with this number in JSON.
            pub const fn of(number: i64) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }

            /// Returns the number in JSON.
            pub const fn number(self) -> i64 {
                self as i64
            }

            /// Parses a comma-separated list of state words, in upper or lower case.
            pub fn of_words(words: &str) -> Option<Vec<Self>> {
                let known = |word: &str| {
                    let place = Self::WORDS.iter().position(|it| it.eq_ignore_ascii_case(word))?;
                    Self::ALL.get(place).copied()
                };
                words.split(',').map(|word| known(word.trim())).collect()
            }
        }
    };
}

status!(
    /// Payment state.
    PayStatus {
        /// Not paid yet.
        Unpaid = 0 "unpaid",
        /// Paid.
        Paid = 1 "paid",
        /// Cancelled before payment.
        Cancelled = 2 "cancelled",
        /// Refund pending.
        Refunding = 3 "refunding",
        /// Refunded.
        Refunded = 4 "refunded",
    }
);

status!(
    /// Shipment state.
    ShipmentStatus {
        /// Nothing shipped yet.
        None = 0 "none",
        /// All items shipped.
        Success = 1 "success",
        /// In progress.
        InProgress = 2 "in progress",
        /// No item shipped.
        Failed = 3 "failed",
        /// Some items shipped.
        Partial = 4 "partial",
    }
);

/// The states of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStates {
    /// The state of its payment.
    pub payment: PayStatus,
    /// The state of its shipment.
    pub shipment: ShipmentStatus,
}

impl PayStatus {
    /// Returns the default when a report omits the state: paid if there is a payment time.
    pub const fn following(pay_end: Option<UnixMs>) -> PayStatus {
        if pay_end.is_some() { PayStatus::Paid } else { PayStatus::Unpaid }
    }
}

impl ShipmentStatus {
    /// Returns whether the shipment failed, in whole or in part.
    pub const fn has_failed(self) -> bool {
        matches!(self, ShipmentStatus::Failed | ShipmentStatus::Partial)
    }

    /// Returns the default when a report omits the state: shipped if there is a shipment time.
    pub const fn following(shipment: Option<UnixMs>) -> ShipmentStatus {
        if shipment.is_some() { ShipmentStatus::Success } else { ShipmentStatus::None }
    }
}

/// Returns the default when a report omits the amount paid: the total if there is a payment time,
/// else 0.
pub const fn pay_amount_following(pay_end: Option<UnixMs>, total: Minor) -> Minor {
    if pay_end.is_some() { total } else { Minor(0) }
}

/// Returns the default when a report omits the amount paid for a line; `None` if it is larger than
/// [`MINOR_MAX`].
pub fn line_pay_amount_following(sale_price: Minor, count: i64) -> Option<Minor> {
    let amount = sale_price.0.checked_mul(count)?;
    (amount.unsigned_abs() <= MINOR_MAX.unsigned_abs()).then_some(Minor(amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_shipment_has_failed_too() {
        let failed = ShipmentStatus::ALL.iter().filter(|status| status.has_failed());
        let failed: Vec<ShipmentStatus> = failed.copied().collect();
        assert_eq!(failed, [ShipmentStatus::Failed, ShipmentStatus::Partial]);
    }

    #[test]
    fn a_line_without_an_amount_costs_its_items_up_to_the_largest_amount() {
        let of = |price, count| line_pay_amount_following(Minor(price), count);
        assert_eq!(of(250, 3), Some(Minor(750)));
        assert_eq!(of(MINOR_MAX, 1), Some(Minor(MINOR_MAX)));
        assert_eq!([of(MINOR_MAX, 2), of(i64::MAX, 2), of(i64::MIN, 1)], [None; 3]);
    }
}
