//! Progress bars. They are hidden when stderr is not a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use kiosque_ingest::import::Progress;
use kiosque_store::{Copied, MoveProgress, MoveStep};

/// The progress of an import.
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

    /// Prints a line above the bar.
    pub(crate) fn print(&self, text: &str) {
        self.0.suspend(|| eprintln!("{text}"));
    }

    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// The progress of a backup; cleared when dropped.
pub(crate) struct CopyBar(ProgressBar);

impl CopyBar {
    pub(crate) fn new() -> CopyBar {
        let template = "copying [{bar:40}] {percent}% of {len} pages, {eta} left";
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        CopyBar(ProgressBar::new(0).with_style(style))
    }

    pub(crate) fn show(&self, copied: Copied) {
        if self.0.length() != Some(copied.of) {
            self.0.set_length(copied.of);
        }
        self.0.set_position(copied.pages);
    }
}

impl Drop for CopyBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// The progress of a move; cleared when dropped.
pub(crate) struct MoveBar(ProgressBar);

impl MoveBar {
    pub(crate) fn new() -> MoveBar {
        let template = "{msg} [{bar:40}] {pos}/{len} rows, {eta} left";
        let style = ProgressStyle::with_template(template);
        MoveBar(
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())),
        )
    }

    pub(crate) fn show(&self, moving: MoveProgress) {
        let step = match moving.step {
            MoveStep::Copying => "copying",
            MoveStep::Comparing => "comparing",
        };
        self.0.set_message(format!("{step} {}", moving.table));
        self.0.set_length(moving.of);
        self.0.set_position(moving.rows);
    }
}

impl Drop for MoveBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn stored_style() -> ProgressStyle {
    let template = "{msg} [{bar:40}] {pos}/{len} orders, {per_sec}, {eta} left";
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
