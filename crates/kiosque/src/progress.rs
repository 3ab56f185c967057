//! Progress bars with the rate of the last seconds. They are hidden when stderr is not a terminal.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use kiosque_ingest::import::Progress;
use kiosque_store::{MoveProgress, MoveStep};

use crate::output::eprint_line;

/// Interval at which a bar is redrawn while there is no progress.
const REDRAW_INTERVAL: Duration = Duration::from_millis(500);

/// A progress bar. Clones show the same bar.
#[derive(Clone)]
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// Shows a text until the size of the work is known.
    pub(crate) fn new(text: &'static str) -> Bar {
        let bar = ProgressBar::new_spinner().with_message(text);
        if !bar.is_hidden() {
            bar.enable_steady_tick(REDRAW_INTERVAL);
        }
        Bar(bar)
    }

    /// Shows how much of a known amount is done.
    pub(crate) fn show(&self, step: &str, done: u64, total: u64) {
        if self.0.length() != Some(total) || self.0.message() != step {
            self.0.set_style(style());
            self.0.set_length(total);
            self.0.set_message(step.to_owned());
            // The rate of a step does not count the time of the earlier ones.
            self.0.reset_eta();
        }
        self.0.set_position(done);
    }

    /// Shows the progress of an import.
    pub(crate) fn show_import(&self, progress: Progress) {
        match progress {
            Progress::Read(lines) => {
                if self.0.length().is_some() {
                    self.0.set_style(ProgressStyle::default_spinner());
                    self.0.unset_length();
                }
                self.0.set_message(format!("reading: {} lines", HumanCount(lines)));
            }
            Progress::Stored { done, total, .. } => self.show("storing", done, total),
        }
    }

    /// Shows the progress of a move, in rows.
    pub(crate) fn show_move(&self, moving: MoveProgress) {
        let step = match moving.step {
            MoveStep::Copying => "copying",
            MoveStep::Comparing => "comparing",
        };
        self.show(&format!("{step} {}", moving.table), moving.rows, moving.of);
    }

    /// Prints a line on stderr, above the bar.
    pub(crate) fn print(&self, text: &str) {
        self.0.suspend(|| eprint_line!("{text}"));
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

fn style() -> ProgressStyle {
    let style = ProgressStyle::with_template("{msg} [{bar:20}] {amount}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("amount", |state: &ProgressState, line: &mut dyn Write| {
        let (position, total) = (state.pos(), state.len().unwrap_or_default());
        // A line on a terminal: there is no one to report a failure to.
        let _ = line.write_str(&amount(position, total, state.per_sec()));
    })
}

/// Returns how much is done, with the rate and the time left, such as
/// `12,798 of 19,847 · 12,400/s · 1 s left`. Without progress there is no estimate.
fn amount(position: u64, total: u64, per_second: f64) -> String {
    let mut text = format!("{} of {}", HumanCount(position), HumanCount(total));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturating")]
    let rate = rounded(per_second as u64);
    if rate > 0 {
        let left = time_left(total.saturating_sub(position).div_ceil(rate));
        text.push_str(&format!(" · {}/s · {left} left", HumanCount(rate)));
    }
    text
}

/// Returns a rate with three significant digits.
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

/// Returns a duration in a readable form, such as `80 ms`, `8.2 s` or `4 min 10 s`.
pub(crate) fn time_taken(duration: Duration) -> String {
    let (seconds, tenths) = (duration.as_secs(), duration.subsec_millis() / 100);
    match seconds {
        0 => format!("{} ms", duration.as_millis()),
        1..10 => format!("{seconds}.{tenths} s"),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_rounded_and_the_estimate_follows_from_it() {
        for (position, per_second, shown) in [
            (64, 0.0, "64 of 20,000"),
            (12_356, 12_356.4, "12,356 of 20,000 · 12,400/s · 1 s left"),
            (100, 50.0, "100 of 20,000 · 50/s · 7 min left"),
            (8, 2.0, "8 of 20,000 · 2/s · 2 h 46 min left"),
            (20_000, 5_000.0, "20,000 of 20,000 · 5,000/s · 0 s left"),
        ] {
            assert_eq!(amount(position, 20_000, per_second), shown);
        }
    }

    #[test]
    fn rates_have_three_digits() {
        for (rate, shown) in [(7, 7), (999, 999), (1_234, 1_230), (1_235, 1_240), (99_960, 100_000)]
        {
            assert_eq!(rounded(rate), shown);
        }
    }

    #[test]
    fn a_duration_has_two_units_at_most() {
        for (ms, shown) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1.0 s"),
            (8_290, "8.2 s"),
            (59_999, "59 s"),
            (250_000, "4 min 10 s"),
            (7_380_000, "2 h 3 min"),
        ] {
            assert_eq!(time_taken(Duration::from_millis(ms)), shown);
        }
    }
}
