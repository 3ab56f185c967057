//! Bars on long work, when somebody is looking.

use indicatif::{ProgressBar, ProgressStyle};
use kiosque_server::ingest::import::Progress;

/// A bar that follows an import; hidden when stderr is no terminal.
pub(crate) struct ImportBar(ProgressBar);

impl ImportBar {
    pub(crate) fn new() -> ImportBar {
        let bar = ProgressBar::new_spinner();
        bar.set_message("reading");
        ImportBar(bar)
    }

    pub(crate) fn show(&self, progress: Progress) {
        match progress {
            Progress::Read(lines) => {
                self.0.set_message(format!("reading: {lines} lines"));
                self.0.tick();
            }
            Progress::Stored(stored, total) => {
                if self.0.length() != Some(total) {
                    self.0.set_length(total);
                    self.0.set_style(stored_style());
                    self.0.set_message("storing");
                }
                self.0.set_position(stored);
            }
        }
    }

    /// Says something without tearing the bar.
    pub(crate) fn say(&self, text: &str) {
        self.0.suspend(|| eprintln!("{text}"));
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

fn stored_style() -> ProgressStyle {
    let template = "{msg} [{bar:40}] {pos}/{len} orders, {per_sec}, {eta} left";
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
