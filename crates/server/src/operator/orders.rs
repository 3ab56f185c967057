//! `POST /operator/v1/orders`: orders as they happen, or all at once.

use kiosque_model::Right;

use super::call::Call;
use super::lines::Lines;
use super::{Answer, json};

/// Answers once all that was sent is durable. What is not valid is told; the rest is kept.
pub(super) async fn post(call: &mut Call<'_>) -> Answer {
    call.holder(Right::Orders).await?;
    let metrics = &call.app.metrics;
    let mut stream = call.app.intake.admit()?;
    let mut lines = Lines::of(&mut call.body, call.app.settings.limits.idle_deadline);
    while let Some(chunk) = lines.next_chunk(call.app.intake.chunk_bytes()).await? {
        metrics.orders.add(stream.take(chunk).await?);
    }
    metrics.orders.add(stream.settle().await?);
    json(&stream.into_received())
}
