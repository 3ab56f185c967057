//! Calls that wait for changes (ORD-25). They are sent in parts: the server holds each only for
//! some seconds, and other groups have the session in between.

use std::time::{Duration, Instant};

use bytes::Bytes;
use kiosque_client::Request as Call;
use kiosque_client::session::{Called, Lane};
use kiosque_contract::Endpoint;
use kiosque_contract::endpoint::OrderChanges;
use kiosque_model::Refusal;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::broker::{Broker, Failure, timed};
use crate::fields;

/// The field with the wait, in seconds.
const FIELD: &str = "waitSeconds";
/// The maximum wait that a server allows (ORD-25). It refuses longer ones at once.
const WAIT_MAX_S: u64 = 60;
/// The maximum wait of one part: well below the time limit of a call.
const PART_MAX: Duration = Duration::from_secs(10);
/// The time that another group gets when its calls have interrupted a wait.
const PAUSE: Duration = Duration::from_secs(1);
/// The interval at which the session of a waiting worker is proven: its end is reported within a
/// second (ORD-27).
const PROOF_INTERVAL: Duration = Duration::from_millis(500);
/// The maximum size of an answer that may have no records.
const EMPTY_MAX_BYTES: usize = 4_096;

/// A call that waits.
struct Wait {
    call: Call,
    fields: Map<String, Value>,
    ends: Instant,
}

impl Wait {
    /// Returns the wait that a call requests; `None` if it requests none that the server allows.
    fn of(call: &Call, max_depth: usize) -> Option<Wait> {
        let fields = fields::to_change(&call.body, max_depth)?;
        let seconds = fields.get(FIELD)?.as_u64()?;
        let length = (1..=WAIT_MAX_S).contains(&seconds).then(|| Duration::from_secs(seconds))?;
        Some(Wait { call: call.clone(), fields, ends: Instant::now() + length })
    }

    /// Returns the seconds that the next part may wait, rounded to the nearest; 0 at the end.
    fn part_s(&self) -> u64 {
        let left = self.ends.saturating_duration_since(Instant::now()).min(PART_MAX);
        (left + Duration::from_millis(500)).as_secs()
    }

    /// Returns the call with another wait.
    fn part(&self, seconds: u64) -> Call {
        let mut fields = self.fields.clone();
        fields.insert(FIELD.to_owned(), seconds.into());
        // Texts and numbers always render.
        let body = serde_json::to_vec(&fields).unwrap_or_default();
        Call { body: Bytes::from(body), ..self.call.clone() }
    }
}

impl Broker {
    /// Sends a call of a worker with this token, in parts if it waits for changes.
    pub(crate) async fn call_or_wait(
        &self,
        token: &str,
        lane: Lane,
        call: Call,
    ) -> Result<Called, Failure> {
        let is_of_changes = call.path.split('?').next() == Some(OrderChanges::PATH);
        let wait = if is_of_changes { Wait::of(&call, self.limits.json_max_depth) } else { None };
        match wait {
            Some(wait) => self.wait_for_changes(token, &lane, wait).await,
            None => self.call(lane, call).await,
        }
    }

    /// Sends the parts of a wait, until one has a record, or the wait or the session of its worker
    /// ends, or the broker stops.
    async fn wait_for_changes(
        &self,
        token: &str,
        lane: &Lane,
        wait: Wait,
    ) -> Result<Called, Failure> {
        let mut is_stopping = false;
        loop {
            let seconds = if is_stopping { 0 } else { wait.part_s() };
            let part = wait.part(seconds);
            if seconds == 0 {
                let called = self.call(lane.clone(), part).await?;
                self.proven(token)?;
                return Ok(called);
            }
            let called = tokio::select! {
                called = self.wait_once(lane, part) => called?,
                () = self.session_ends(token) => None,
                () = self.stop.wait() => {
                    is_stopping = true;
                    None
                }
            };
            self.proven(token)?;
            if let Some(called) = called.filter(|called| !is_without_records(called)) {
                return Ok(called);
            }
        }
    }

    /// Sends a part of a wait. Returns `None` some time after it was interrupted.
    async fn wait_once(&self, lane: &Lane, part: Call) -> Result<Option<Called>, Failure> {
        let called = timed(self.session.call_long(lane.clone(), part)).await;
        let Some(called) = called.transpose() else {
            tokio::time::sleep(PAUSE).await;
            return Ok(None);
        };
        self.forget_closed_group(lane, &called).await;
        called.map(Some)
    }

    /// Returns once the session of a worker has ended.
    async fn session_ends(&self, token: &str) {
        while self.proven(token).is_ok() {
            tokio::time::sleep(PROOF_INTERVAL).await;
        }
    }

    /// Proves the session of a worker.
    fn proven(&self, token: &str) -> Result<(), Refusal> {
        let session = self.workers.find(self.clock.now(), token);
        session.map(|_| ()).ok_or(Refusal::TokenInvalid)
    }
}

/// Returns whether an answer is a success without records.
fn is_without_records(called: &Called) -> bool {
    #[derive(Deserialize)]
    struct Data {
        records: Vec<IgnoredAny>,
    }
    called.answer.body.len() <= EMPTY_MAX_BYTES
        && called.answer.data().is_ok_and(|Data { records }| records.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(body: &'static str) -> Option<Wait> {
        Wait::of(&Call::new("changes".to_owned(), Bytes::from_static(body.as_bytes())), 32)
    }

    /// ORD-25: only the wait of a part differs from the call; a call without a wait that the server
    /// allows is sent unchanged.
    #[test]
    fn a_wait_is_sent_in_parts() {
        let long = wait(r#"{"after":"c","waitSeconds":60}"#).expect("a wait");
        assert_eq!(long.part_s(), 10);
        assert_eq!(long.part(3).body, r#"{"after":"c","waitSeconds":3}"#);
        let ended = Wait { ends: Instant::now(), ..long };
        assert_eq!(ended.part_s(), 0);
        for body in [
            "",
            "[]",
            "{}",
            r#"{"waitSeconds":0}"#,
            r#"{"waitSeconds":61}"#,
            r#"{"waitSeconds":-1}"#,
            r#"{"waitSeconds":"7"}"#,
            r#"{"waitSeconds":7,"after":"c","after":"d"}"#,
        ] {
            assert!(wait(body).is_none(), "{body}");
        }
    }
}
