//! `POST /operator/v1/orders`: orders, streamed as they happen or all at once.

use kiosque_contract::OrdersReceived;
use kiosque_store::KeyHolder;

use super::call::Call;
use super::lines::Lines;
use super::problem::Problem;

/// Returns when every valid line is durable.
pub(super) async fn receive(call: &mut Call<'_>, _: KeyHolder) -> Result<OrdersReceived, Problem> {
    let (intake, metrics) = (&call.app.intake, &call.app.metrics);
    let mut stream = intake.admit()?;
    let mut lines = Lines::of(&mut call.body, call.app.settings.limits.idle_deadline);
    while let Some(chunk) = lines.next_chunk(intake.chunk_bytes()).await? {
        metrics.orders.add(stream.submit(chunk).await?);
    }
    metrics.orders.add(stream.settle().await?);
    Ok(stream.into_received())
}
