//! Order changes: the orders of a group by their latest change, for clients with a copy of them. An
//! answer without a change waits for one, for as long as the caller requests.

use std::io::Write;
use std::pin::pin;
use std::time::Duration;

use kiosque_contract::{OrderChanges, OrderChangesRequest};
use kiosque_model::refusal::ViolationKind;
use kiosque_model::{ChangeCursor, PageRequest};
use kiosque_store::{ChangeQuery, GroupTotals};
use tokio::time::sleep;

use crate::answer::Data;
use crate::call::{Call, Caller, Validate};
use crate::failure::Failure;
use crate::request::Violations;

/// The longest time that an answer may wait, in seconds (ORD-25).
const WAIT_MAX_S: i64 = 60;

impl Validate for OrderChangesRequest {
    fn validate(&self, call: &Call<'_>, violations: &mut Violations) {
        // A value of another type is one violation, not two.
        let after = self.after.as_deref().filter(|_| !violations.concern("after"));
        if after.is_some_and(|after| ChangeCursor::read(after).is_none()) {
            violations.add("after", ViolationKind::NotCursor);
        }
        let size_max = call.app.settings.limits.page_size_max;
        let numbers = [
            ("size", self.size, 1, ViolationKind::NotPositive, size_max),
            ("waitSeconds", self.wait_seconds, 0, ViolationKind::Negative, WAIT_MAX_S),
        ];
        for (field, number, least, too_small, most) in numbers {
            let Some(number) = number.filter(|_| !violations.concern(field)) else { continue };
            if number < least {
                violations.add(field, too_small);
            } else if number > most {
                violations.add(field, ViolationKind::OverMaximum(most));
            }
        }
    }
}

/// `POST …/kioskOrder/changes`
pub(crate) async fn order_changes(
    caller: Caller<'_>,
    request: OrderChangesRequest,
) -> Result<Data<OrderChanges>, Failure> {
    let Caller { call, mut claim, .. } = caller;
    let app = call.app;
    let size_max = app.settings.limits.page_size_max;
    let query = ChangeQuery {
        after: request.after.as_deref().and_then(ChangeCursor::read),
        size: request.size.unwrap_or(PageRequest::SIZE_DEFAULT.min(size_max)),
    };
    let totals = match request.include_totals {
        Some(true) => GroupTotals::Included,
        _ => GroupTotals::Left,
    };
    let seconds = request.wait_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    let Some(seconds) = seconds.filter(|seconds| *seconds > 0) else {
        return Ok(data(&app.store.orders().changes(claim, query, totals).await?));
    };
    let mut ended = pin!(async {
        tokio::select! {
            () = sleep(Duration::from_secs(seconds)) => {}
            () = app.stopping.wait() => {}
        }
    });
    let mut follower = app.store.orders().follow(claim.token.group_hint(), Some(&claim.token));
    let mut waiting = None;
    let mut has_ended = false;
    loop {
        let read = app.store.orders().changes(claim.clone(), query, totals);
        let changes = follower.read(read).await?;
        let next = changes.next();
        if !changes.is_empty() || has_ended {
            return Ok(data(&changes));
        }
        if next.group != follower.group() {
            // The group of the token was a hint.
            follower = app.store.orders().follow(next.group, Some(&claim.token));
            continue;
        }
        drop(changes);
        if waiting.is_none() {
            let most = app.settings.limits.change_waits_per_account_max;
            waiting = Some(follower.begin_wait(most)?);
        }
        tokio::select! {
            () = follower.woken(next.change_no) => {}
            () = ended.as_mut() => has_ended = true,
        }
        // The session is proven again, at this time.
        claim.now = app.clock.now();
    }
}

fn data(changes: &kiosque_store::OrderChanges) -> Data<OrderChanges> {
    let mut json = Vec::new();
    // Writing to a vector does not fail.
    let _ = write!(json, r#"{{"records":["#);
    for (at, (change_no, order)) in changes.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let _ = write!(json, r#"{comma}{{"changeNo":{change_no},"order":"#);
        json.extend_from_slice(order);
        json.push(b'}');
    }
    let next = changes.next().write();
    let more = changes.more;
    let _ = write!(json, r#"],"next":"{next}","more":{more}"#);
    if let Some(totals) = &changes.totals {
        let _ = write!(json, r#","totals":"#);
        let _ = serde_json::to_writer(&mut json, totals);
    }
    json.push(b'}');
    Data::of_json(json)
}
