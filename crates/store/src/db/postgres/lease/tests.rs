use super::*;

const TERMS: SessionLease =
    SessionLease { length: Duration::from_secs(1), clock_skew: Duration::from_millis(500) };

/// A time on a machine that has run for a while.
fn at(ms: u64) -> BootTime {
    BootTime(Duration::from_millis(1_000_000 + ms))
}

/// The database's clock showed 50 000 between two times.
fn reading(sent_ms: u64, answered_ms: u64) -> ClockReading {
    let (sent_at, answered_at) = (at(sent_ms), at(answered_ms));
    ClockReading { database_ms: 50_000, sent_at, answered_at }
}

#[test]
fn a_clock_is_off_only_outside_both_ends_of_the_reading() {
    // (sent, answered, read by the node at 1000, ahead)
    for (sent_ms, answered_ms, now_ms, ahead_ms) in [
        (0, 0, 51_000, 0),
        (0, 0, 51_501, 501),
        (0, 0, 50_499, -501),
        // The answer took 700 ms, and the database read its clock at some time in between.
        (0, 700, 51_000, 0),
        (0, 700, 50_300, 0),
        (0, 700, 50_299, -1),
        (0, 700, 51_001, 1),
        (300, 1_000, 50_700, 0),
    ] {
        let ahead = reading(sent_ms, answered_ms).ahead_ms(now_ms, at(1_000));
        assert_eq!(ahead, ahead_ms, "{sent_ms} to {answered_ms}: {now_ms}");
    }
    assert_eq!(reading(0, 5).ahead_ms(i64::MAX, at(9)), i64::MAX - 50_009);
}

/// A reading has the times of both ends, so that a slow answer is not mistaken for a wrong clock.
#[tokio::test]
async fn a_reading_has_the_times_right_before_and_after() {
    let mut inside = None;
    let read = async {
        let began = BootTime::now();
        tokio::time::sleep(Duration::from_millis(50)).await;
        inside = Some((began, BootTime::now()));
        Ok(50_000)
    };
    let before = BootTime::now();
    let reading = ClockReading::around(read).await.expect("a reading");
    let (after, (began, ended)) = (BootTime::now(), inside.expect("it was read"));
    assert!(before <= reading.sent_at && reading.sent_at <= began, "{reading:?}, {began:?}");
    assert!(ended <= reading.answered_at && reading.answered_at <= after, "{reading:?}, {ended:?}");
    // The clock was read at some time in between.
    let at_most = i64::try_from(ended.since(began).as_millis()).expect("a short time");
    for now_ms in [50_000, 50_000 + at_most] {
        assert_eq!(reading.ahead_ms(now_ms, reading.answered_at), 0, "{now_ms}");
    }
}

#[test]
fn a_precise_reading_is_used_for_two_leases() {
    let mut state = State::default();
    let sent = |state: &State| state.clock.map(|reading| reading.sent_at);
    let recent = TERMS.length * READING_LEASES;
    for (sent_ms, answered_ms, used_ms) in [
        (0, 2, 0),
        (200, 900, 0),
        (1_000, 1_001, 1_000),
        (1_200, 1_203, 1_000),
        (3_000, 3_001, 3_000),
        (3_200, 5_000, 3_000),
        (4_300, 5_001, 4_300),
    ] {
        state.note_clock(reading(sent_ms, answered_ms), recent);
        assert_eq!(sent(&state), Some(at(used_ms)), "{sent_ms} to {answered_ms}");
    }
}

#[test]
fn a_lease_is_valid_from_its_start_to_its_end() {
    let mut state =
        State { starts_at: Some(at(500)), expires_at: Some(at(1_500)), ..State::default() };
    for (now_ms, is_valid) in [(0, false), (499, false), (500, true), (1_499, true), (1_500, false)]
    {
        assert_eq!(state.check(at(now_ms), TERMS).is_ok(), is_valid, "{now_ms}");
    }
    // The machine was suspended for an hour.
    assert!(state.check(at(3_600_000), TERMS).is_err());
    state.clock_is_off_by_ms = Some(501);
    assert!(state.check(at(1_000), TERMS).is_err());
}
