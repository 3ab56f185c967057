//! The origin of a command's changes, for the audit trail: the command, its files, and the user of
//! the machine who runs it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use kiosque_clock::Clock;
use kiosque_model::ActedBy;
use kiosque_model::audit::{Act, CommandRun};
use kiosque_store::Store;

/// Returns this run of a command, such as `import orders`.
pub(crate) fn run_of(command: &str) -> CommandRun {
    // The directory of a process belongs to the user that it runs as; other systems have none.
    let uid = fs::metadata("/proc/self").ok().map(|directory| directory.uid());
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    CommandRun {
        user: uid.and_then(|uid| name_of(uid, &users)),
        uid,
        command: command.to_owned(),
        ..CommandRun::default()
    }
}

/// Returns the origin of a change that this command makes now.
pub(crate) fn by(command: &str) -> ActedBy {
    ActedBy::run(run_of(command), Clock::System.now())
}

/// Returns the name of a file for the trail: absolute, or `-` for standard input.
pub(crate) fn file_name(file: &Path) -> String {
    let path = if file == Path::new("-") { Ok(file.to_owned()) } else { std::path::absolute(file) };
    path.unwrap_or_else(|_| file.to_owned()).display().to_string()
}

/// Returns the name of a user in the lines of `/etc/passwd`.
fn name_of(uid: u32, users: &str) -> Option<String> {
    let line = users.lines().find(|line| {
        let number = line.split(':').nth(2);
        number.and_then(|number| number.parse().ok()) == Some(uid)
    });
    line?.split(':').next().map(str::to_owned)
}

/// An import that has begun. In a dry run it has no number.
pub(crate) struct BegunImport {
    pub(crate) run: CommandRun,
}

/// Stores that an import begins.
pub(crate) async fn begin_import(store: &Store, run: CommandRun) -> anyhow::Result<BegunImport> {
    if store.is_dry_run() {
        return Ok(BegunImport { run });
    }
    let by = ActedBy::run(run.clone(), Clock::System.now());
    let import = Some(store.begin_import(by).await?);
    Ok(BegunImport { run: CommandRun { import, ..run } })
}

impl BegunImport {
    /// Removes the import, which stored nothing.
    pub(crate) async fn cancel(&self, store: &Store) -> anyhow::Result<()> {
        match self.run.import {
            Some(number) => Ok(store.cancel_import(number).await?),
            None => Ok(()),
        }
    }

    /// Stores the result of the import, and prints its id.
    pub(crate) async fn end(self, store: &Store, act: Act) -> anyhow::Result<()> {
        match self.run.import {
            Some(number) => {
                let by = ActedBy::run(self.run, Clock::System.now());
                store.end_import(number, act, by).await?;
                println!("import {number}");
            }
            None => eprintln!("dry run: nothing was stored"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_number() {
        let users = "root:x:0:0:root:/:/bin/sh\nbroken\nkiosque:x:999:999::/srv:/bin/false\n";
        assert_eq!(name_of(999, users).as_deref(), Some("kiosque"));
        assert_eq!(name_of(0, users).as_deref(), Some("root"));
        assert_eq!(name_of(1, users), None);
    }
}
