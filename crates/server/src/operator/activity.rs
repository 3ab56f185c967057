//! `POST /operator/v1/activity`: heartbeats of devices.

use kiosque_model::Right;

use super::call::Call;
use super::lines::Lines;
use super::{Answer, json};
use kiosque_ingest::heartbeats::Heartbeats;

/// How much text is taken together.
const CHUNK_BYTES: usize = 256 << 10;

/// Answers once all that was sent is seen by whoever asks this server. What is not valid is told;
/// the rest is kept.
pub(super) async fn post(call: &mut Call<'_>) -> Answer {
    call.holder(Right::Activity).await?;
    let app = call.app;
    let mut heartbeats = Heartbeats::default();
    let mut lines = Lines::of(&mut call.body, app.settings.limits.idle_deadline);
    while let Some(chunk) = lines.next_chunk(CHUNK_BYTES).await? {
        heartbeats.take(&app.store, chunk, app.clock.now()).await?;
    }
    let received = heartbeats.finish();
    app.metrics.heard(&received);
    json(&received)
}
