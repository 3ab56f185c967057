//! The directory of one server, its owner, and the process that removes it.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::programs::{program, run};

/// The user that PostgreSQL runs as when root starts it, since it refuses to run as root: the one
/// created by Debian's packages.
const SYSTEM_USER: &str = "postgres";

/// Waits until the process that starts servers ends or closes the pipe, then ends the last
/// postmaster whose process id it has read, and removes the directory. It is a separate process
/// because a static is never dropped and a killed process drops nothing.
///
/// A postmaster waits for its children in an immediate shutdown; the children of a killed one are
/// left to the first process of the system, which does not reap them in every container. Frozen
/// processes are continued first, and those that have not ended in time are killed.
const WATCHDOG: &str = r#"
pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
    kill -QUIT "$pid"
    pkill -CONT -P "$pid"
    kill -CONT "$pid"
    checks=0
    while [ -e "$1/data/postmaster.pid" ] && [ "$checks" -lt 600 ]; do
        checks=$((checks + 1))
        sleep 0.01
    done
    kill -STOP "$pid"
    pkill -KILL -P "$pid"
    kill -KILL "$pid"
fi
tries=0
until rm -rf -- "$1" || [ "$tries" -gt 50 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
"#;

/// The directory of one server. Dropping it kills the server and removes the directory.
pub(crate) struct ServerDirectory {
    directory: PathBuf,
    owner: Option<Owner>,
    watchdog: Child,
}

/// A user other than the one that runs this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    uid: u32,
    gid: u32,
}

impl ServerDirectory {
    /// Creates a directory in the system's directory for temporary files.
    pub(crate) fn create() -> Result<ServerDirectory> {
        let directory = tempfile::Builder::new().prefix("kiosque-testdb-").tempdir();
        let directory = directory.context("a directory for a PostgreSQL server")?;
        // A separate process group keeps the signals of a terminal away from it.
        let watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "watchdog"])
            .arg(directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("cannot start sh")?;
        // From here on the watchdog removes it.
        let mut created = ServerDirectory { directory: directory.keep(), owner: None, watchdog };
        // The owner of a new directory is the user of this process.
        if created.directory.metadata()?.uid() == 0 {
            created.give_to(Owner::find()?)?;
        }
        Ok(created)
    }

    fn give_to(&mut self, owner: Owner) -> Result<()> {
        self.owner = Some(owner);
        self.own(&self.directory)?;
        let mut test = Command::new("test");
        let enters = self.as_owner(test.arg("-x").arg(&self.directory)).status();
        if !enters.is_ok_and(|status| status.success()) {
            let directory = self.directory.display();
            bail!(
                "the user {SYSTEM_USER} cannot enter {directory}: set TMPDIR to a directory that \
                 it can enter"
            );
        }
        Ok(())
    }

    /// Returns a path in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns one of PostgreSQL's programs, to be run by the owner in the directory.
    pub(crate) fn program(&self, name: &str) -> Result<Command> {
        let mut command = program(name)?;
        // A client library looks for keys and passwords in HOME; the caller's are not the owner's.
        self.as_owner(command.env("HOME", &self.directory).current_dir(&self.directory));
        Ok(command)
    }

    /// Runs one of PostgreSQL's programs to its end.
    pub(crate) fn run(&self, name: &str, arguments: &[&str]) -> Result<String> {
        run(self.program(name)?.args(arguments))
    }

    /// Writes a file that only the owner reads.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path(name);
        let writing = || format!("cannot write {}", path.display());
        let mut file = File::create(&path).with_context(writing)?;
        file.set_permissions(Permissions::from_mode(0o600)).with_context(writing)?;
        file.write_all(text.as_bytes()).with_context(writing)?;
        self.own(&path)
    }

    /// Adds lines to a file that the owner already has.
    pub(crate) fn append(&self, name: &str, lines: &str) -> Result<()> {
        let path = self.path(name);
        let adding = || format!("cannot add to {}", path.display());
        let mut file = File::options().append(true).open(&path).with_context(adding)?;
        file.write_all(lines.as_bytes()).with_context(adding)
    }

    /// Sends the watchdog the process id of the postmaster in the directory, or none.
    pub(crate) fn watch(&mut self, postmaster: Option<u32>) -> Result<()> {
        let pid = postmaster.map(|pid| pid.to_string()).unwrap_or_default();
        let pipe = self.watchdog.stdin.as_mut().context("the pipe to the watchdog is closed")?;
        writeln!(pipe, "{pid}").context("the watchdog of the server's directory has ended")
    }

    fn as_owner<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        match self.owner {
            Some(Owner { uid, gid }) => command.uid(uid).gid(gid),
            None => command,
        }
    }

    fn own(&self, path: &Path) -> Result<()> {
        let Some(Owner { uid, gid }) = self.owner else { return Ok(()) };
        chown(path, Some(uid), Some(gid)).with_context(|| format!("cannot own {}", path.display()))
    }
}

impl Drop for ServerDirectory {
    fn drop(&mut self) {
        drop(self.watchdog.stdin.take());
        // An error cannot be returned from here.
        let _ = self.watchdog.wait();
    }
}

impl Owner {
    fn find() -> Result<Owner> {
        let id = |of: &str| -> Result<u32> {
            Ok(run(Command::new("id").args([of, SYSTEM_USER]))?.parse()?)
        };
        let owner = id("-u").and_then(|uid| Ok(Owner { uid, gid: id("-g")? }));
        owner.context("PostgreSQL does not run as root, and its user is needed")
    }
}
