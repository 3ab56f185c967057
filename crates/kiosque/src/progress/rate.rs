//! The rate of the last seconds, and the remaining time at this rate.

use std::collections::VecDeque;
use std::fmt::Write;
use std::time::{Duration, Instant};

use indicatif::style::ProgressTracker;
use indicatif::{HumanCount, ProgressState};

/// The time over which a rate is measured.
const WINDOW: Duration = Duration::from_secs(5);
/// The minimum time after which a rate is known.
const LEAST: Duration = Duration::from_secs(1);
/// The time between two samples that are kept.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(200);

/// The part `{amount}` of a bar, such as `12,798 of 19,847 · 12,400/s · 1 s left`. In the first
/// second there is no rate, and without progress in the last seconds no estimate.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentRate {
    /// Positions by their time; the first is as old as the window, or the start.
    samples: VecDeque<(Instant, u64)>,
}

impl RecentRate {
    fn observe(&mut self, position: u64, now: Instant) {
        if let Some((at, last)) = self.samples.back() {
            if position < *last {
                // The next part of the work.
                self.samples.clear();
            } else if now.duration_since(*at) < SAMPLE_INTERVAL {
                return;
            }
        }
        self.samples.push_back((now, position));
        while let Some((second, _)) = self.samples.get(1)
            && now.duration_since(*second) >= WINDOW
        {
            self.samples.pop_front();
        }
    }

    /// Returns the progress in a second, rounded to three digits.
    fn per_second(&self) -> Option<u64> {
        let ((begun, first), (ended, last)) = (self.samples.front()?, self.samples.back()?);
        let elapsed = ended.duration_since(*begun);
        if elapsed < LEAST {
            return None;
        }
        let ms = u64::try_from(elapsed.as_millis()).ok()?;
        Some(rounded((last - first).saturating_mul(1_000) / ms))
    }

    fn text(&self, position: u64, total: u64) -> String {
        let mut text = format!("{} of {}", HumanCount(position), HumanCount(total));
        if let Some(rate @ 1..) = self.per_second() {
            let left = total.saturating_sub(position).div_ceil(rate);
            text.push_str(&format!(" · {}/s · {} left", HumanCount(rate), time_left(left)));
        }
        text
    }
}

impl ProgressTracker for RecentRate {
    fn clone_box(&self) -> Box<dyn ProgressTracker> {
        Box::new(self.clone())
    }

    fn tick(&mut self, state: &ProgressState, now: Instant) {
        self.observe(state.pos(), now);
    }

    fn reset(&mut self, _: &ProgressState, _: Instant) {
        self.samples.clear();
    }

    fn write(&self, state: &ProgressState, line: &mut dyn Write) {
        // A line on a terminal: there is no one to report a failure to.
        let _ = line.write_str(&self.text(state.pos(), state.len().unwrap_or_default()));
    }
}

fn rounded(rate: u64) -> u64 {
    let mut unit = 1;
    while rate / unit >= 1_000 {
        unit *= 10;
    }
    (rate + unit / 2) / unit * unit
}

fn time_left(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text after positions that are observed at seconds, of 20,000.
    fn after(positions: &[(u64, u64)]) -> String {
        let (begun, mut rate) = (Instant::now(), RecentRate::default());
        for (second, position) in positions {
            rate.observe(*position, begun + Duration::from_secs(*second));
        }
        rate.text(positions.last().map_or(0, |last| last.1), 20_000)
    }

    #[test]
    fn there_is_no_estimate_before_there_is_a_rate() {
        assert_eq!(after(&[(0, 64)]), "64 of 20,000");
        assert_eq!(after(&[(0, 64), (0, 640)]), "640 of 20,000");
    }

    #[test]
    fn the_rate_is_rounded_and_the_estimate_follows_from_it() {
        assert_eq!(after(&[(0, 0), (1, 12_356)]), "12,356 of 20,000 · 12,400/s · 1 s left");
        assert_eq!(after(&[(0, 0), (2, 100)]), "100 of 20,000 · 50/s · 7 min left");
        assert_eq!(after(&[(0, 0), (4, 8)]), "8 of 20,000 · 2/s · 2 h 46 min left");
        assert_eq!(after(&[(0, 0), (4, 20_000)]), "20,000 of 20,000 · 5,000/s · 0 s left");
    }

    /// A slow start, such as reading a file, does not count indefinitely.
    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let slow = [(0, 0), (60, 60), (61, 1_060), (62, 2_060), (63, 3_060), (64, 4_060)];
        let steady = [(65, 5_060), (66, 6_060)];
        let text = after(&[&slow[..], &steady].concat());
        assert_eq!(text, "6,060 of 20,000 · 1,000/s · 14 s left");
    }

    #[test]
    fn without_progress_there_is_no_estimate() {
        assert_eq!(after(&[(0, 0), (1, 500), (2, 500), (9, 500), (15, 500)]), "500 of 20,000");
    }

    #[test]
    fn the_next_part_of_the_work_has_a_rate_of_its_own() {
        assert_eq!(after(&[(0, 0), (1, 9_000), (2, 10)]), "10 of 20,000");
    }

    #[test]
    fn rates_have_three_digits() {
        for (rate, shown) in [(7, 7), (999, 999), (1_234, 1_230), (1_235, 1_240), (99_960, 100_000)]
        {
            assert_eq!(rounded(rate), shown);
        }
    }
}
