//! `POST /operator/v1/orders`: orders, streamed as they happen or all at once.

use kiosque_contract::OrdersReceived;
use kiosque_contract::operator_call::ReceiveOrders;
use kiosque_store::KeyHolder;

use super::call::Call;
use super::key::StreamKey;
use super::lines::Lines;
use super::problem::Problem;

/// Returns when every valid line is durable. Ends early when some lines could not be stored.
pub(super) async fn receive(
    call: &mut Call<'_>,
    holder: KeyHolder,
) -> Result<OrdersReceived, Problem> {
    let (intake, metrics) = (&call.app.intake, &call.app.metrics);
    let mut stream = intake.admit(holder.name)?;
    let mut key = StreamKey::new(ReceiveOrders, call.app, &call.head, call.now);
    let mut lines = Lines::of(&mut call.body, call.app.settings.limits.idle_deadline);
    let ended = loop {
        if stream.has_failed() {
            break Ok(());
        }
        match key.next_chunk(&mut lines, intake.chunk_bytes()).await {
            Ok(Some(chunk)) => metrics.orders.add(stream.submit(chunk).await?),
            Ok(None) => break Ok(()),
            Err(problem) => break Err(problem),
        }
    };
    metrics.orders.add(stream.settle().await?);
    let received = stream.into_received()?;
    ended.map(|()| received)
}
