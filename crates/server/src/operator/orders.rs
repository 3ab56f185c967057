//! `POST /operator/v1/orders`: orders, streamed as they happen or all at once.

use kiosque_contract::OrdersReceived;
use kiosque_contract::operator_call::ReceiveOrders;

use super::call::Caller;
use super::key::StreamKey;
use super::lines::Lines;
use crate::failure::Failure;

/// Returns when every valid line is durable. Ends early when some lines could not be stored.
pub(super) async fn receive(caller: Caller<'_>) -> Result<OrdersReceived, Failure> {
    let Caller { call, body, holder, .. } = caller;
    let (intake, metrics) = (&call.app.intake, &call.app.metrics);
    let mut stream = intake.admit(holder.name)?;
    let mut key = StreamKey::new(ReceiveOrders, call)?;
    let mut lines = Lines::of(body, call.app.settings.limits.idle_deadline);
    let ended = loop {
        if stream.has_failed() {
            break Ok(());
        }
        match key.next_chunk(&mut lines, intake.chunk_bytes()).await {
            Ok(Some(chunk)) => metrics.orders.add(stream.submit(chunk).await?),
            Ok(None) => break Ok(()),
            Err(failure) => break Err(failure),
        }
    };
    metrics.orders.add(stream.settle().await?);
    let received = stream.into_received()?;
    ended.map(|()| received)
}
