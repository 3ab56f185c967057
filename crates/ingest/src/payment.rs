//! The amounts, the times and the payment state of an order, and contradictions between them
//! (ORD-21).

use kiosque_model::order::PayStatus;
use kiosque_model::{Minor, UnixMs, Zone};

/// The amounts, the times and the payment state of an order. An invalid field is `None`, and
/// contradicts nothing.
pub(crate) struct Payment {
    /// The price of the order.
    pub(crate) total: Option<Minor>,
    /// The amount paid, given or derived.
    pub(crate) paid: Option<Minor>,
    /// The amount refunded.
    pub(crate) refunded: Option<Minor>,
    /// The start of the trade.
    pub(crate) start: Option<UnixMs>,
    /// The end of the payment; `Some(None)` if the order has none.
    pub(crate) pay_end: Option<Option<UnixMs>>,
    /// The shipment; also `None` if the order has none.
    pub(crate) shipment: Option<UnixMs>,
    /// The payment state; also `None` if it follows from the end of the payment.
    pub(crate) status: Option<PayStatus>,
}

impl Payment {
    /// Returns each contradiction, beginning with its field. Times are shown in `zone`.
    pub(crate) fn contradictions(&self, zone: &Zone) -> impl Iterator<Item = String> {
        let pay_end = self.pay_end.flatten();
        [
            excess("payAmount", self.paid, "totalAmount", self.total),
            excess("refundAmount", self.refunded, "payAmount", self.paid),
            precedence("payEndTime", pay_end, self.start, zone),
            precedence("shipmentTime", self.shipment, self.start, zone),
            self.status_contradiction(zone),
        ]
        .into_iter()
        .flatten()
    }

    fn status_contradiction(&self, zone: &Zone) -> Option<String> {
        let (status, pay_end) = (self.status?, self.pay_end?);
        let requires = |name| {
            let number = status.number();
            Some(format!("payStatus: {number} ({name}) requires payEndTime, which is missing"))
        };
        match (status, pay_end) {
            (PayStatus::Unpaid, Some(at)) => {
                Some(format!("payStatus: 0 (unpaid) contradicts payEndTime, {}", zone.text(at)))
            }
            (PayStatus::Paid, None) => requires("paid"),
            (PayStatus::Refunding, None) => requires("refunding"),
            (PayStatus::Refunded, None) => requires("refunded"),
            (PayStatus::Unpaid, None) | (PayStatus::Cancelled, _) | (_, Some(_)) => None,
        }
    }
}

fn excess(field: &str, amount: Option<Minor>, limit: &str, most: Option<Minor>) -> Option<String> {
    let (amount, most) = (amount?.0, most?.0);
    (amount > most).then(|| format!("{field}: {amount} is more than {limit}, {most}"))
}

/// Compares whole seconds, because some sources truncate one of the times.
fn precedence(
    field: &str,
    at: Option<UnixMs>,
    start: Option<UnixMs>,
    zone: &Zone,
) -> Option<String> {
    let (at, start) = (at?, start?);
    let seconds = |time: UnixMs| time.0.div_euclid(1_000);
    (seconds(at) < seconds(start)).then(|| {
        format!("{field}: {} is before tradeStartTime, {}", zone.text(at), zone.text(start))
    })
}
