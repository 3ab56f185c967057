//! The figures of a sale, in the few bytes by which the index of sale times has them: so a part of
//! a day is counted without a record.

use kiosque_model::sales::{Sale, Totals};

use crate::error::Error;
use crate::varint::{put, take};

/// The bytes of a currency's code, which are the first; four [`varint`](crate::varint)s follow.
const CODE_BYTES: usize = 3;

/// The currency of a sale, and its part of the sums of its day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SaleFigures<'r> {
    pub(crate) currency: &'r str,
    pub(crate) totals: Totals,
}

/// Returns the bytes of a sale.
pub(crate) fn packed(sale: &Sale) -> Vec<u8> {
    let Totals { orders: _, items, amount, refund, shipped, failed } = sale.totals();
    let mut bytes = sale.currency.code().as_bytes().to_vec();
    for figure in [items, amount, refund, shipped - failed] {
        put(&mut bytes, figure);
    }
    bytes
}

impl SaleFigures<'_> {
    /// Reads the figures of a sale.
    ///
    /// # Errors
    /// The bytes are not those of a sale.
    pub(crate) fn read(bytes: &[u8]) -> Result<SaleFigures<'_>, Error> {
        let figures = || {
            let (code, mut rest) = bytes.split_at_checked(CODE_BYTES)?;
            let currency = str::from_utf8(code).ok()?;
            let mut next = || take(&mut rest);
            let (items, amount, refund, shipment) = (next()?, next()?, next()?, next()?);
            let (shipped, failed) = (i64::from(shipment == 1), i64::from(shipment == -1));
            let totals = Totals { orders: 1, items, amount, refund, shipped, failed };
            rest.is_empty().then_some(SaleFigures { currency, totals })
        };
        figures().ok_or_else(|| Error::Data(format!("{bytes:?} are no figures of a sale")))
    }
}

#[cfg(test)]
mod tests {
    use kiosque_model::order::ShipmentStatus;
    use kiosque_model::sales::Sold;
    use kiosque_model::{Currency, Minor, UnixMs};

    use super::*;

    #[test]
    fn figures_are_read_as_they_were_written() {
        use ShipmentStatus::{Failed, None, Partial, Success};
        for shipment in [None, Success, Failed, Partial] {
            let sold = |items, amount| Sold {
                goods_id: "g".to_owned(),
                items,
                amount: Minor(amount),
                name: Option::None,
            };
            let sale = Sale {
                at: UnixMs(1),
                currency: Currency::parse("EUR").expect("a currency"),
                amount: Minor(i64::MAX),
                refund: Minor(-7),
                shipment,
                goods: vec![sold(2, 3), sold(4, 5)],
            };
            let bytes = packed(&sale);
            let figures = SaleFigures::read(&bytes).expect("figures");
            assert_eq!(figures, SaleFigures { currency: "EUR", totals: sale.totals() });
            for cut in 0..bytes.len() {
                assert!(SaleFigures::read(&bytes[..cut]).is_err(), "{cut}");
            }
            assert!(SaleFigures::read(&[bytes.as_slice(), &[0]].concat()).is_err());
        }
    }
}
