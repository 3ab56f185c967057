//! The figures of a sale and the states of its order, in the few bytes that the index of sale times
//! has of them: so a part of a day is counted, and orders in a state are found, without a record.
//! An order that is not a sale only has its states.

use kiosque_model::order::{OrderStates, PayStatus, ShipmentStatus};
use kiosque_model::sales::{Sale, Totals};

use crate::error::Error;
use crate::varint::{put, take};

/// The bytes of a currency's code, which are the first; three [`varint`](crate::varint)s and the
/// byte of the states follow.
const CODE_BYTES: usize = 3;
/// The number of payment states that fit in the byte of the states.
const PAYMENTS: u8 = 8;

/// The currency of a sale, and its part of the sums of its day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SaleFigures<'r> {
    pub(crate) currency: &'r str,
    pub(crate) totals: Totals,
}

/// Returns the bytes of an order, which may be a sale.
pub(crate) fn packed(sale: Option<&Sale>, states: OrderStates) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(sale) = sale {
        let Totals { items, amount, refund, .. } = sale.totals();
        bytes.extend_from_slice(sale.currency.code().as_bytes());
        for figure in [items, amount, refund] {
            put(&mut bytes, figure);
        }
    }
    bytes.push(states.shipment as u8 * PAYMENTS + states.payment as u8);
    bytes
}

/// Reads the states of an order from its bytes; `None` for invalid bytes.
pub(crate) fn states(bytes: &[u8]) -> Option<OrderStates> {
    let byte = *bytes.last()?;
    Some(OrderStates {
        payment: PayStatus::of((byte % PAYMENTS).into())?,
        shipment: ShipmentStatus::of((byte / PAYMENTS).into())?,
    })
}

/// Returns whether the payment of an order is being returned.
pub(crate) fn is_refunding(bytes: &[u8]) -> bool {
    states(bytes).is_some_and(|states| states.payment == PayStatus::Refunding)
}

impl SaleFigures<'_> {
    /// Reads the figures of a sale.
    ///
    /// # Errors
    /// The bytes are not the figures of a sale.
    pub(crate) fn read(bytes: &[u8]) -> Result<SaleFigures<'_>, Error> {
        let figures = || {
            let (code, rest) = bytes.split_at_checked(CODE_BYTES)?;
            let currency = str::from_utf8(code).ok()?;
            let OrderStates { shipment, .. } = states(rest)?;
            let (_, mut rest) = rest.split_last()?;
            let mut next = || take(&mut rest);
            let (items, amount, refund) = (next()?, next()?, next()?);
            let shipped = i64::from(shipment == ShipmentStatus::Success);
            let failed = i64::from(shipment.has_failed());
            let totals = Totals { orders: 1, items, amount, refund, shipped, failed };
            rest.is_empty().then_some(SaleFigures { currency, totals })
        };
        figures().ok_or_else(|| Error::Data(format!("{bytes:?} are not the figures of a sale")))
    }
}

#[cfg(test)]
mod tests {
    use kiosque_model::sales::Sold;
    use kiosque_model::{Currency, Minor, UnixMs};

    use super::*;

    #[test]
    fn figures_are_read_as_they_were_written() {
        for (shipment, payment) in ShipmentStatus::ALL.iter().zip(PayStatus::ALL) {
            let (shipment, payment) = (*shipment, *payment);
            let sold = |items, amount| Sold {
                goods_id: "g".to_owned(),
                items,
                amount: Minor(amount),
                name: None,
            };
            let sale = Sale {
                at: UnixMs(1),
                currency: Currency::parse("EUR").expect("a currency"),
                amount: Minor(i64::MAX),
                refund: Minor(-7),
                shipment,
                goods: vec![sold(2, 3), sold(4, 5)],
            };
            let of = OrderStates { payment, shipment };
            let bytes = packed(Some(&sale), of);
            assert_eq!((states(&bytes), states(&packed(None, of))), (Some(of), Some(of)));
            let figures = SaleFigures::read(&bytes).expect("figures");
            assert_eq!(figures, SaleFigures { currency: "EUR", totals: sale.totals() });
            for cut in 0..bytes.len() {
                assert!(SaleFigures::read(&bytes[..cut]).is_err(), "{cut}");
            }
            assert!(SaleFigures::read(&[bytes.as_slice(), &[0]].concat()).is_err());
        }
    }
}
