//! How long to wait before a replaced session is taken back.

use std::time::Duration;

use super::pace::Pace;

/// A session that lived this long ends a series of replaced ones.
const CALM: Duration = Duration::from_secs(60);

/// The series of sessions that another user of the account has replaced. Two clients that log in
/// whenever they are refused end each other's sessions forever; if one waits longer each time, the
/// other one can work.
#[derive(Debug, Default)]
pub(super) struct Holdback {
    in_a_row: u32,
    all: u64,
}

impl Holdback {
    /// Records that a session that lived this long was replaced. Returns the wait before the next
    /// login.
    pub(super) fn replaced(&mut self, lived: Duration, pace: &Pace) -> Duration {
        self.all += 1;
        self.in_a_row = if lived >= CALM { 1 } else { self.in_a_row.saturating_add(1) };
        match self.in_a_row.checked_sub(pace.hold_from) {
            None => Duration::ZERO,
            Some(doublings) => {
                let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
                pace.hold_first.saturating_mul(factor).min(pace.hold_max)
            }
        }
    }

    /// Returns how many sessions were replaced.
    pub(super) fn all(&self) -> u64 {
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_until_a_session_lives_a_minute() {
        let (mut holdback, pace) = (Holdback::default(), Pace::default());
        let mut waits = Vec::new();
        for _ in 0..40 {
            waits.push(holdback.replaced(Duration::ZERO, &pace).as_millis());
        }
        assert_eq!(waits[..5], [0, 250, 500, 1_000, 2_000]);
        assert!(waits[10..].iter().all(|wait| *wait == 60_000), "{waits:?}");
        assert_eq!(holdback.replaced(CALM, &pace), Duration::ZERO);
        assert_eq!(holdback.replaced(Duration::ZERO, &pace), pace.hold_first);
        assert_eq!(holdback.all(), 42);

        let pace = Pace { hold_from: 1, hold_first: pace.hold_max, ..pace };
        assert_eq!(holdback.replaced(CALM, &pace), pace.hold_max);
    }
}
