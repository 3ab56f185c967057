//! Progress bars with the rate of the last seconds. They are hidden when stderr is not a terminal.

mod rate;

use std::fmt::{self, Display};
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use kiosque_ingest::import::Progress;
use kiosque_store::{MoveProgress, MoveStep};

use crate::output::eprint_line;
use rate::RecentRate;

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
    style.with_key("amount", RecentRate::default())
}

/// A duration in a readable form, such as `80 ms`, `8.2 s` or `4 min 10 s`.
pub(crate) struct Elapsed(pub(crate) Duration);

impl Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, tenths) = (self.0.as_secs(), self.0.subsec_millis() / 100);
        match seconds {
            0 => write!(f, "{} ms", self.0.as_millis()),
            1..10 => write!(f, "{seconds}.{tenths} s"),
            10..60 => write!(f, "{seconds} s"),
            60..3_600 => write!(f, "{} min {} s", seconds / 60, seconds % 60),
            _ => write!(f, "{} h {} min", seconds / 3_600, seconds / 60 % 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(Elapsed(Duration::from_millis(ms)).to_string(), shown);
        }
    }
}
