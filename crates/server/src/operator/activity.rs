//! `POST /operator/v1/activity`: heartbeats of devices.

use kiosque_contract::ActivityReceived;
use kiosque_contract::operator_call::ReceiveActivity;
use kiosque_ingest::heartbeats::Heartbeats;
use kiosque_store::KeyHolder;

use super::call::Call;
use super::key::StreamKey;
use super::lines::Lines;
use super::problem::Problem;

/// The size of a chunk of lines.
const CHUNK_BYTES: usize = 256 << 10;

/// Returns when the next request to this server sees every valid heartbeat.
pub(super) async fn receive(
    call: &mut Call<'_>,
    _: KeyHolder,
) -> Result<ActivityReceived, Problem> {
    let app = call.app;
    let mut heartbeats = Heartbeats::default();
    let mut key = StreamKey::new(ReceiveActivity, app, &call.head, call.now);
    let mut lines = Lines::of(&mut call.body, app.settings.limits.idle_deadline);
    while let Some(chunk) = key.next_chunk(&mut lines, CHUNK_BYTES).await? {
        heartbeats.record(&app.store, chunk, app.clock.now()).await?;
    }
    let received = heartbeats.finish();
    app.metrics.heard(&received);
    Ok(received)
}
