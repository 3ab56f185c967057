//! Streams of heartbeats: each line has a device and a time.

use std::collections::BTreeSet;

use kiosque_contract::{ActivityReceived, HeartbeatLine, RejectedHeartbeat};
use kiosque_model::time::{
    NOT_A_FINER_UNIT, NOT_SECONDS, looks_finer_than_milliseconds, looks_like_seconds,
};
use kiosque_model::{DeviceCode, UnixMs, ids, shortened};
use kiosque_store::{Heartbeat, Store};
use serde_json::{Number, Value};

use super::json_line;
use super::ndjson::RawLine;
use super::rejected::Reason;
use super::response_lists::LINES_LISTED_MAX;
use super::unknown_keys::{add_to_list, shown};
use crate::Error;

/// The outcomes of a stream of heartbeats.
#[derive(Debug, Default)]
pub struct Heartbeats(ActivityReceived);

impl Heartbeats {
    /// Records the next lines, and returns how many of them were accepted and rejected. Requests
    /// that begin afterwards see them.
    ///
    /// # Errors
    /// The store failed; the lines before these are stored.
    pub async fn record(
        &mut self,
        store: &Store,
        lines: Vec<RawLine>,
        now: UnixMs,
    ) -> Result<[u64; 2], Error> {
        let (mut valid, mut heartbeats) = (Vec::new(), Vec::new());
        let mut rejected = Vec::new();
        let mut ignored_keys = BTreeSet::new();
        for raw in lines {
            match parse(&raw, now, &mut ignored_keys) {
                Ok(heartbeat) => {
                    valid.push((raw.number, heartbeat.device_code.clone()));
                    heartbeats.push(heartbeat);
                }
                Err(reason) => rejected.push(reported(raw.number, device_of(&raw), &reason)),
            }
        }
        add_to_list(&mut self.0.ignored_keys, shown(ignored_keys));
        let refused = store.intake().record_heartbeats(heartbeats).await?;
        let accepted = count(valid.len() - refused.len());
        self.0.accepted += accepted;
        for one in refused {
            if let Some((line, code)) = valid.get(one.index) {
                rejected.push(reported(*line, Some(code.as_str().to_owned()), &one.reason));
            }
        }
        rejected.sort_by_key(|one| one.line);
        let rejected_count = count(rejected.len());
        self.0.rejected_count += rejected_count;
        let room = LINES_LISTED_MAX.saturating_sub(self.0.rejected.len());
        self.0.rejected.extend(rejected.into_iter().take(room));
        Ok([accepted, rejected_count])
    }

    /// Returns the counts and the rejected lines.
    #[must_use]
    pub fn finish(self) -> ActivityReceived {
        self.0
    }
}

/// Reads a heartbeat. Adds ignored keys to `ignored_keys`.
fn parse(
    raw: &RawLine,
    now: UnixMs,
    ignored_keys: &mut BTreeSet<String>,
) -> Result<Heartbeat, String> {
    let given: HeartbeatLine = json_line::read(raw.whole()?, |key| {
        ignored_keys.insert(key);
    })?;
    let code = given.device_code.ok_or("deviceCode: is missing")?;
    let device_code = DeviceCode::parse(code).map_err(|error| format!("deviceCode: {error}"))?;
    let at = given.timestamp.map_or(Ok(now), |timestamp| moment(&timestamp, now))?;
    Ok(Heartbeat { device_code, at })
}

/// Returns the time of a heartbeat in milliseconds; now when absent or in the future.
fn moment(timestamp: &Number, now: UnixMs) -> Result<UnixMs, String> {
    match (timestamp.as_i64(), timestamp.as_u64()) {
        (Some(ms), _) if looks_like_seconds(ms) => Err(format!("timestamp: {NOT_SECONDS}")),
        (Some(ms), _) if looks_finer_than_milliseconds(ms) => {
            Err(format!("timestamp: {NOT_A_FINER_UNIT}"))
        }
        (Some(ms @ 0..), _) => Ok(UnixMs(ms).min(now)),
        // Too large to be in the past.
        (None, Some(_)) => Ok(now),
        (Some(_), _) => Err(format!("timestamp: {timestamp} is before 1970")),
        (None, None) => {
            Err(format!("timestamp: {timestamp} is not a whole number of milliseconds"))
        }
    }
}

/// Returns a rejected line as reported to the caller.
fn reported(line: u64, device_code: Option<String>, reason: &str) -> RejectedHeartbeat {
    let device_code = device_code.map(|code| shortened(&code, ids::ID_CHARS_MAX).into_owned());
    RejectedHeartbeat { line, device_code, reason: Reason::new(reason).reported() }
}

/// Returns the device code of an invalid line, if it can be read.
fn device_of(raw: &RawLine) -> Option<String> {
    let line: Value = serde_json::from_slice(&raw.text).ok()?;
    Some(line.get("deviceCode")?.as_str()?.to_owned())
}

fn count(lines: usize) -> u64 {
    u64::try_from(lines).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<i64, String> {
        let raw = RawLine { number: 1, text: line.as_bytes().to_vec(), too_long: None };
        parse(&raw, UnixMs(1_000), &mut BTreeSet::new()).map(|heartbeat| {
            assert_eq!(heartbeat.device_code.as_str(), "d");
            heartbeat.at.0
        })
    }

    /// Absent, null and future times are replaced by now; a time that is not an integer, is below 0
    /// or looks like seconds (REQ-15) rejects the line.
    #[test]
    fn a_future_time_is_replaced_by_now() {
        let finer = Err(
            "timestamp: must be in milliseconds; sixteen digits look like microseconds, nineteen \
             like nanoseconds",
        );
        for (timestamp, want) in [
            ("0", Ok(0)),
            ("999", Ok(999)),
            ("1000", Ok(1_000)),
            ("1001", Ok(1_000)),
            ("999999999", Ok(1_000)),
            ("1000000000", Err("timestamp: must be in milliseconds; ten digits look like seconds")),
            ("9999999999", Err("timestamp: must be in milliseconds; ten digits look like seconds")),
            ("10000000000", Ok(1_000)),
            ("1772406000000000", finer),
            ("1772406000000000000", finer),
            ("9223372036854775808", Ok(1_000)),
            ("null", Ok(1_000)),
            ("-1", Err("timestamp: -1 is before 1970")),
            ("-9223372036854775808", Err("timestamp: -9223372036854775808 is before 1970")),
            ("1.5", Err("timestamp: 1.5 is not a whole number of milliseconds")),
            ("1e3", Err("timestamp: 1000.0 is not a whole number of milliseconds")),
            ("\"7\"", Err("timestamp: invalid type: string \"7\", expected a JSON number")),
            ("[7]", Err("timestamp: invalid type: sequence, expected a JSON number")),
        ] {
            let line = format!(r#"{{"deviceCode":"d","timestamp":{timestamp}}}"#);
            assert_eq!(read(&line), want.map_err(str::to_owned), "{timestamp}");
        }
        assert_eq!(read(r#"{"deviceCode":"d"}"#), Ok(1_000));
        assert_eq!(read(r#" {"deviceCode":"d","other":[{}]} "#), Ok(1_000));
    }

    #[test]
    fn a_rejected_heartbeat_names_the_reason() {
        for (line, want) in [
            ("{}", "deviceCode: is missing"),
            (r#"{"deviceCode":null,"timestamp":1}"#, "deviceCode: is missing"),
            (r#"{"deviceCode":" "}"#, "deviceCode: must not be blank"),
            (r#"{"deviceCode":7}"#, "deviceCode: invalid type: integer `7`, expected a string"),
            (r#"["d",7]"#, "not a JSON object"),
            (r#"{"deviceCode":"d""#, "not JSON: EOF while parsing an object at line 1 column 17"),
            (r#"{"deviceCode":"d"}x"#, "not JSON: trailing characters at line 1 column 19"),
            (r#"{"deviceCode":"d","deviceCode":"d"}"#, "duplicate field `deviceCode`"),
        ] {
            assert_eq!(read(line), Err(want.to_owned()), "{line}");
        }
    }
}
