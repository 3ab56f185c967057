//! `POST /operator/v1/orders`: orders, streamed as they happen or all at once.

use std::pin::pin;

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
        let mut chunk = pin!(key.next_chunk(&mut lines, intake.chunk_bytes()));
        // The outcome of the last lines may be known before further ones arrive.
        let chunk = loop {
            if stream.has_failed() {
                break Ok(None);
            }
            tokio::select! {
                biased;
                chunk = &mut chunk => break chunk,
                settled = stream.settle(), if stream.is_storing() => metrics.received(settled?),
            }
        };
        match chunk {
            Ok(Some(chunk)) => match stream.submit(chunk).await {
                Ok(settled) => metrics.received(settled),
                Err(error) => break Err(error.into()),
            },
            Ok(None) => break Ok(()),
            Err(failure) => break Err(failure),
        }
    };
    metrics.received(stream.settle().await?);
    let (mut outcomes, error) = stream.into_outcomes();
    let rejected = outcomes.received.rejected.iter_mut();
    rejected.for_each(|one| lines.name_element(one.line, &mut one.reason));
    match error.map_or(ended, |error| Err(error.into())) {
        Ok(()) => Ok(outcomes.received),
        Err(failure) => Err(failure.with_orders(outcomes)),
    }
}
