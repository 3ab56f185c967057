//! What the store must be told of records, whose inside it does not know.

use std::borrow::Cow;

use kiosque_contract::{LineItem, OrderHead};
use kiosque_model::order::{PayStatus, ShipmentStatus};
use kiosque_model::sales::{Sale, Sold, sale_at};
use kiosque_model::{Currency, Minor, UnixMs};
use kiosque_store::{Error, Incoming, Kept, Record, RecordShape};
use serde::Deserialize;

use super::{Head, SHAPE, parsed, render, render_head};

/// The shape of the records that are rendered here.
#[derive(Clone, Copy, Debug)]
pub struct Records;

impl RecordShape for Records {
    /// Product names that an order leaves out stay (ORD-9).
    fn settle(&self, incoming: &Incoming, kept: &Kept) -> Result<Record, Error> {
        if incoming.nameless_lines.is_empty() {
            return Ok(incoming.record.clone());
        }
        let mut lines: Vec<LineItem> = parsed(incoming.record.lines.as_bytes())?;
        let kept_lines: Vec<LineItem> = parsed(kept.record.lines.as_bytes())?;
        for at in &incoming.nameless_lines {
            let Some(line) = lines.get_mut(*at) else { continue };
            // The same place first: one product may stand on two lines under two names.
            let same_place = kept_lines.get(*at).filter(|was| was.goods_id == line.goods_id);
            let was =
                same_place.or_else(|| kept_lines.iter().find(|was| was.goods_id == line.goods_id));
            if let Some(was) = was {
                line.goods_name.clone_from(&was.goods_name);
            }
        }
        render(incoming.record.head.clone(), &lines)
    }

    fn sale(&self, head: &[u8], lines: &[u8], at: UnixMs) -> Result<Sale, Error> {
        let head = closed(head);
        let head: KeptHead<'_> = parsed(&head)?;
        let lines: Vec<KeptLine<'_>> = parsed(lines)?;
        let unknown = |what: &str| Error::Data(format!("a kept record: {what} is not known"));
        let currency = Currency::parse(&head.currency).map_err(|_| unknown("its currency"))?;
        let shipment = ShipmentStatus::of(head.shipment_status);
        let goods = lines.into_iter().map(|line| Sold {
            goods_id: line.goods_id.into_owned(),
            items: line.count,
            amount: Minor(line.pay_amount),
            name: Some(line.goods_name.into_owned()),
        });
        Ok(Sale {
            at,
            currency,
            amount: Minor(head.pay_amount),
            refund: Minor(head.refund_amount),
            shipment: shipment.ok_or_else(|| unknown("its shipment status"))?,
            goods: goods.collect(),
        })
    }

    fn sale_time(&self, head: &[u8], _: &[u8]) -> Result<Option<String>, Error> {
        let head = closed(head);
        let head: KeptHead<'_> = parsed(&head)?;
        let status = PayStatus::of(head.pay_status);
        let paid = status.is_some_and(|status| sale_at(Some(UnixMs(0)), status).is_some());
        Ok(head.pay_end_time.filter(|_| paid).map(Cow::into_owned))
    }

    /// The first shape was the whole head as it travels, without its closing brace.
    fn renewed(&self, first_head: &[u8]) -> Result<(i64, String), Error> {
        let first: OrderHead = parsed(&[first_head, b"}"].concat())?;
        let head = render_head(&Head {
            device_code: &first.device_code,
            currency: &first.currency,
            total_amount: first.total_amount,
            pay_amount: first.pay_amount,
            refund_amount: first.refund_amount,
            pay_status: first.pay_status,
            shipment_status: first.shipment_status,
            pay_channel_name: first.pay_channel_name.as_deref(),
            shipment_time: first.shipment_time,
            card_number: first.card_number.as_deref(),
            phone: first.phone.as_deref(),
            trade_start_time: first.trade_start_time,
            pay_end_time: first.pay_end_time,
        })?;
        Ok((SHAPE, head))
    }
}

/// What sums need of a kept head.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptHead<'a> {
    #[serde(borrow)]
    currency: Cow<'a, str>,
    pay_amount: i64,
    refund_amount: i64,
    pay_status: i64,
    shipment_status: i64,
    #[serde(borrow)]
    pay_end_time: Option<Cow<'a, str>>,
}

/// What sums need of a kept line.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KeptLine<'a> {
    #[serde(borrow)]
    goods_id: Cow<'a, str>,
    #[serde(borrow)]
    goods_name: Cow<'a, str>,
    count: i64,
    pay_amount: i64,
}

/// A head is kept without its braces.
fn closed(head: &[u8]) -> Vec<u8> {
    [b"{", head, b"}"].concat()
}
