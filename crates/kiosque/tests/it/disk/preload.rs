//! The libraries that are loaded into the program, compiled from `testkit/preload`.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use kiosque_testkit::{Ran, Sandbox};

static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| compiled("disk"));

/// Compiles a library of `testkit/preload` and returns its path.
pub(crate) fn compiled(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let library = directory.join(format!("{name}.so"));
    // Another test program may load the library meanwhile.
    let made = directory.join(format!("{name}-{}.so", std::process::id()));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&made);
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testkit/preload");
    compiler.arg(format!("{sources}/{name}.c"));
    Ran::of(&mut compiler).success();
    fs::rename(made, &library).unwrap();
    library
}

/// Returns the same sandbox with commands that load the library.
pub(super) fn loaded(sandbox: &Sandbox) -> Sandbox {
    let loaded = sandbox.with_variable("LD_PRELOAD", &*LIBRARY);
    loaded.with_variable("DISK_DIRECTORY", sandbox.data())
}

/// Returns the same sandbox with commands whose changes of the data are in [`log`].
pub(super) fn recorded(sandbox: &Sandbox) -> Sandbox {
    loaded(sandbox).with_variable("DISK_LOG", log(sandbox))
}

/// Returns the path of the log of all changes of the files of a sandbox's data.
pub(super) fn log(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("changes.log")
}

/// The calls that can fail, with the bits by which the library knows them.
pub(super) const READ: u32 = 1;
pub(super) const WRITE: u32 = 2;
pub(super) const SYNC: u32 = 4;
pub(super) const RESIZE: u32 = 8;
pub(super) const CREATE: u32 = 16;
pub(super) const OPEN: u32 = 32;
pub(super) const REMOVE: u32 = 64;

/// Errors of the operating system.
pub(super) const EIO: u32 = 5;
pub(super) const ENOSPC: u32 = 28;
pub(super) const EROFS: u32 = 30;

/// Which calls fail, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failing {
    /// The sum of the bits of the calls.
    pub(super) kinds: u32,
    /// The value of `errno`; 0 for calls that report success all the same.
    pub(super) error: u32,
    /// Calls that succeed first.
    pub(super) skip: u32,
    /// The failures among 10,000 later calls.
    pub(super) chance: u32,
    /// The most failures; 0 for no limit.
    pub(super) limit: u32,
    /// Whether writes within a file succeed all the same.
    pub(super) is_growth_alone: bool,
}

impl Failing {
    pub(super) const NONE: Failing =
        Failing { kinds: 0, error: 0, skip: 0, chance: 0, limit: 0, is_growth_alone: false };
}

/// The file by which a test makes the calls of running programs fail.
pub(super) struct Failures {
    path: PathBuf,
    file: File,
}

impl Failures {
    /// Returns the file, with which nothing fails yet.
    pub(super) fn new(sandbox: &Sandbox, seed: usize) -> Failures {
        let path = sandbox.path("failures");
        let mut numbers = [0_u8; 9 * 4];
        numbers[32..].copy_from_slice(&u32::try_from(seed & 0xffff_ffff).unwrap().to_ne_bytes());
        fs::write(&path, numbers).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        Failures { path, file }
    }

    /// Returns the same sandbox, which loads the library, with commands that read this file.
    pub(super) fn reach(&self, loaded: &Sandbox) -> Sandbox {
        loaded.with_variable("DISK_FAILURES", &self.path)
    }

    /// Makes these calls fail from now on.
    pub(super) fn begin(&self, failing: Failing) {
        let Failing { kinds, error, skip, chance, limit, is_growth_alone } = failing;
        let numbers = [error, skip, chance, limit, u32::from(is_growth_alone), 0, 0];
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        self.file.write_all_at(&bytes, 4).unwrap();
        // The calls last, with which the other numbers count.
        self.file.write_all_at(&kinds.to_ne_bytes(), 0).unwrap();
    }

    pub(super) fn end(&self) {
        self.file.write_all_at(&[0; 4], 0).unwrap();
    }

    /// Returns the number of calls that have failed.
    pub(super) fn failed(&self) -> u32 {
        let mut number = [0; 4];
        self.file.read_exact_at(&mut number, 28).unwrap();
        u32::from_ne_bytes(number)
    }
}
