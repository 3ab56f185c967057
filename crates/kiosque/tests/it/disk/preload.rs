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

/// Returns a command on the data of a sandbox that loads the library.
fn loaded(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.command(args);
    command.env("LD_PRELOAD", &*LIBRARY).env("DISK_DIRECTORY", sandbox.data());
    command
}

/// The log of all changes of the files of a sandbox's data.
pub(super) struct Recorder {
    pub(super) log: PathBuf,
}

impl Recorder {
    pub(super) fn new(sandbox: &Sandbox) -> Recorder {
        Recorder { log: sandbox.path("changes.log") }
    }

    pub(super) fn command(&self, sandbox: &Sandbox, args: &[&str]) -> Command {
        let mut command = loaded(sandbox, args);
        command.env("DISK_LOG", &self.log);
        command
    }

    /// Returns the length of the log: whatever happened before is in it up to there.
    pub(super) fn position(&self) -> u64 {
        fs::metadata(&self.log).map_or(0, |log| log.len())
    }
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

    /// Adds the file to a command of a [`Recorder`].
    pub(super) fn reach(&self, command: &mut Command) {
        command.env("DISK_FAILURES", &self.path);
    }

    pub(super) fn command(&self, sandbox: &Sandbox, args: &[&str]) -> Command {
        let mut command = loaded(sandbox, args);
        self.reach(&mut command);
        command
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
