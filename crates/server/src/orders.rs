//! List orders and order detail (ORD-1 to ORD-20).

use kiosque_contract::{OrderDetail, OrderDetailRequest, OrderFilter, OrderRecord, Page};
use kiosque_model::refusal::ViolationKind;
use kiosque_model::{DeviceCode, UnixMs};
use kiosque_store::{History, OrderQuery, Span, TradeNumbers};

use crate::answer::Data;
use crate::call::{Call, Caller, Validate};
use crate::failure::Failure;
use crate::request::Violations;

impl Validate for OrderFilter {
    fn validate(&self, _: &Call<'_>, violations: &mut Violations) {
        let (start, end) = ("startTimestamp", "endTimestamp");
        violations.check_milliseconds(start, self.start_timestamp);
        violations.check_milliseconds(end, self.end_timestamp);
        if let (Some(from), Some(until)) = (self.start_timestamp, self.end_timestamp)
            && from > until
            && !violations.concern(start)
            && !violations.concern(end)
        {
            violations.add(start, ViolationKind::AfterEnd);
        }
    }
}

/// `POST …/kioskOrder/queryOrderList`
pub(crate) async fn query_order_list(
    caller: Caller<'_>,
    filter: OrderFilter,
) -> Result<Data<Page<OrderRecord>>, Failure> {
    let Caller { call, claim, page } = caller;
    let query = OrderQuery {
        // A text that cannot be a code is out of scope like any other unknown code.
        device: DeviceCode::parse(filter.device_code).ok(),
        history: match filter.include_history {
            Some(true) => History::Included,
            Some(false) | None => History::Left,
        },
        span: match (filter.start_timestamp, filter.end_timestamp) {
            (None, None) => None,
            (start, end) => Some(Span {
                start: UnixMs(start.unwrap_or(i64::MIN)),
                end: UnixMs(end.unwrap_or(i64::MAX)),
            }),
        },
        page,
    };
    let orders = call.app.store.orders().page(claim, query).await?;
    Ok(Data::page(orders.total, page, orders.newest_first()))
}

impl Validate for OrderDetailRequest {
    fn validate(&self, _: &Call<'_>, violations: &mut Violations) {
        let none_given = is_blank(&self.trade_no_out) && is_blank(&self.trade_no_in);
        // A number of another type is one violation, not two.
        if none_given && violations.is_empty() {
            violations.add("tradeNoOut", ViolationKind::NoTradeNumber);
        }
    }
}

fn is_blank(number: &Option<String>) -> bool {
    number.as_ref().is_none_or(|number| number.trim().is_empty())
}

/// `POST …/kioskOrder/orderDetail`
pub(crate) async fn order_detail(
    caller: Caller<'_>,
    request: OrderDetailRequest,
) -> Result<Data<OrderDetail>, Failure> {
    let Caller { call, claim, .. } = caller;
    let given = |number: Option<String>| number.filter(|number| !number.trim().is_empty());
    let numbers =
        TradeNumbers { out: given(request.trade_no_out), inner: given(request.trade_no_in) };
    let detail = call.app.store.orders().detail(claim, numbers).await?;
    Ok(Data::of_json(detail))
}
