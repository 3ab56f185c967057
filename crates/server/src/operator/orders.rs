//! `POST /operator/v1/orders`: orders, streamed as they happen or all at once.

use kiosque_contract::OrdersReceived;
use kiosque_contract::operator_call::ReceiveOrders;

use super::call::Caller;
use super::key::StreamKey;
use super::lines::{Lines, Splitter};
use crate::failure::Failure;

/// Returns when every valid line is durable. Ends early when some lines could not be stored.
pub(super) async fn receive(caller: Caller<'_>) -> Result<OrdersReceived, Failure> {
    let Caller { call, body, holder, .. } = caller;
    let (intake, metrics) = (&call.app.intake, &call.app.metrics);
    let mut stream = intake.admit(holder.name)?;
    let mut key = StreamKey::new(ReceiveOrders, call)?;
    let idle_deadline = call.app.settings.limits.idle_deadline;
    let mut lines = Lines::of(body, Splitter::of(call.head)?, idle_deadline);
    let ended = loop {
        if stream.has_failed() {
            break Ok(());
        }
        match key.next_chunk(&mut lines, intake.chunk_bytes()).await {
            Ok(Some(chunk)) => metrics.received(stream.submit(chunk).await?),
            Ok(None) => break Ok(()),
            Err(failure) => break Err(failure),
        }
    };
    metrics.received(stream.settle().await?);
    let name = |orders: &mut OrdersReceived| {
        orders.rejected.iter_mut().for_each(|one| lines.name_element(one.line, &mut one.reason));
    };
    let mut received = stream.into_received().map_err(|mut failure| {
        failure.orders.iter_mut().for_each(|orders| name(&mut orders.received));
        failure
    })?;
    name(&mut received);
    ended.map(|()| received)
}
