//! `POST /operator/v1/activity`: heartbeats of devices.

use kiosque_contract::ActivityReceived;
use kiosque_contract::operator_call::ReceiveActivity;
use kiosque_ingest::heartbeats::Heartbeats;

use super::call::Caller;
use super::key::StreamKey;
use super::lines::{Lines, Splitter};
use crate::failure::Failure;

/// The size of a chunk of lines.
const CHUNK_BYTES: usize = 256 << 10;

/// Returns once the next request to this server will see every valid heartbeat.
pub(super) async fn receive(caller: Caller<'_>) -> Result<ActivityReceived, Failure> {
    let Caller { call, body, .. } = caller;
    let app = call.app;
    let mut heartbeats = Heartbeats::default();
    let mut key = StreamKey::new(ReceiveActivity, call)?;
    let idle_deadline = app.settings.limits.idle_deadline;
    let mut lines = Lines::of(body, Splitter::of(call.head)?, idle_deadline);
    while let Some(chunk) = key.next_chunk(&mut lines, CHUNK_BYTES).await? {
        app.metrics.heard(heartbeats.record(&app.store, chunk, app.clock.now()).await?);
    }
    let mut received = heartbeats.finish();
    received.rejected.iter_mut().for_each(|one| lines.name_element(one.line, &mut one.reason));
    Ok(received)
}
