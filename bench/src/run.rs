//! What the parts of a run share.

use std::path::PathBuf;

use crate::engine::Engine;
use crate::kiosque::Kiosque;
use crate::options::Options;

/// A run of the bench.
pub(crate) struct Run<'a> {
    /// The program to measure.
    pub(crate) program: PathBuf,
    /// Its storage engine.
    pub(crate) engine: Engine,
    /// The directory for generated files and data.
    pub(crate) dir: PathBuf,
    /// Its options.
    pub(crate) options: &'a Options,
}

impl Run<'_> {
    /// Returns the program with the data directory `data`.
    pub(crate) fn kiosque(&self, data: PathBuf) -> Kiosque {
        Kiosque::new(&self.program, data, &self.engine)
    }
}
