//! A directory of backups that are named by their time; the newest are kept.

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use jiff::Timestamp;
use kiosque_model::UnixMs;
use kiosque_store::{UNFINISHED_SUFFIX, have_same_data, remove_unfinished};

/// A directory for `backup --keep`. Files with other names are not touched.
pub(super) struct BackupDirectory(PathBuf);

impl BackupDirectory {
    /// Returns the directory, which must exist: one that is not mounted is not replaced.
    pub(super) fn open(path: PathBuf) -> anyhow::Result<BackupDirectory> {
        if path.exists() && !path.is_dir() {
            bail!("{} is not a directory, which --keep needs", path.display());
        }
        if !path.is_dir() {
            bail!("{}: the directory does not exist; create it first", path.display());
        }
        Ok(BackupDirectory(path))
    }

    /// Returns the path of a backup made now.
    pub(super) fn file_at(&self, now: UnixMs) -> anyhow::Result<PathBuf> {
        let now = Timestamp::from_millisecond(now.0).context("the time of the clock")?;
        Ok(self.0.join(file_name(now)))
    }

    /// Removes backups of the same data until `keep` are left: `newest`, and the latest of the
    /// others. Those with a later time than `now` count as the oldest: the clock was ahead when
    /// they were made. Those that another backup has made since `newest` count, and are left to it.
    /// Returns the removed backups, oldest first.
    pub(super) fn remove_old(
        &self,
        newest: &Path,
        now: UnixMs,
        keep: NonZeroUsize,
    ) -> anyhow::Result<Vec<PathBuf>> {
        // The clock may have been set back during the backup.
        let now = self.file_at(now)?.max(newest.to_owned());
        let names = self.names()?;
        let backups = names
            .iter()
            .filter(|name| time_of(name).is_some())
            .map(|name| self.0.join(name))
            .filter(|path| is_file(path))
            .filter(|path| have_same_data(newest, path).unwrap_or_default());
        // Names sort by time.
        let (newer, mut others): (Vec<_>, Vec<_>) =
            backups.partition(|path| (newest..=now.as_path()).contains(&path.as_path()));
        others.sort_by_key(|path| (path.as_path() < newest, path.clone()));
        others.truncate((newer.len() + others.len()).saturating_sub(keep.get()));
        let mut removed = Vec::new();
        for path in others {
            match fs::remove_file(&path) {
                Ok(()) => removed.push(path),
                // Another backup has removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => bail!("cannot remove {}: {error}", path.display()),
            }
        }
        Ok(removed)
    }

    /// Removes what backups that crashed have left.
    pub(super) fn remove_unfinished(&self) -> anyhow::Result<()> {
        let names = self.names()?;
        let finals = names.iter().filter_map(|name| name.strip_suffix(UNFINISHED_SUFFIX));
        for name in finals.filter(|name| time_of(name).is_some()) {
            let file = self.0.join(name);
            match remove_unfinished(&file) {
                // Another backup has ended.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed.with_context(|| {
                    format!("cannot remove {}{UNFINISHED_SUFFIX}", file.display())
                })?,
            }
        }
        Ok(())
    }

    fn names(&self) -> anyhow::Result<Vec<String>> {
        let listed = || format!("cannot list {}", self.0.display());
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0).with_context(listed)? {
            names.extend(entry.with_context(listed)?.file_name().into_string().ok());
        }
        Ok(names)
    }
}

/// Returns whether the path is a file, not a link to one.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// Returns the name of a backup made at `time`, such as `kiosque-20261122T023000.000Z.db`. Names
/// sort by time.
fn file_name(time: Timestamp) -> String {
    time.strftime("kiosque-%Y%m%dT%H%M%S.%3fZ.db").to_string()
}

/// Returns the time in the name of a backup; `None` if it is not exactly such a name.
fn time_of(name: &str) -> Option<Timestamp> {
    let time = name.strip_prefix("kiosque-")?.strip_suffix(".db")?;
    let time: Timestamp = time.parse().ok()?;
    (file_name(time) == name).then_some(time)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    /// Writes a database file of the data with this identity.
    fn write_backup(path: &Path, identity: i32) {
        let database = Connection::open(path).unwrap();
        database.pragma_update(None, "application_id", identity).unwrap();
    }

    /// Two backups at once keep the number that was asked for, in any order of their removals; one
    /// of a clock that was ahead is the first to go. Those of other data stay.
    #[test]
    fn backups_at_once_do_not_remove_one_another() {
        let name = |second: i64| file_name(Timestamp::from_second(second).unwrap());
        for (keep, made, left) in [
            (1, [2, 3], vec![3]),
            (1, [3, 2], vec![3]),
            (2, [2, 3], vec![2, 3]),
            (2, [3, 2], vec![2, 3]),
            (3, [2, 3], vec![1, 2, 3]),
        ] {
            let parent = tempfile::tempdir().unwrap();
            let directory = BackupDirectory::open(parent.path().to_owned()).unwrap();
            for second in [1, 2, 3, 9] {
                write_backup(&parent.path().join(name(second)), 7);
            }
            write_backup(&parent.path().join(name(0)), 8);
            for newest in made {
                let newest = parent.path().join(name(newest));
                let keep = NonZeroUsize::new(keep).unwrap();
                directory.remove_old(&newest, UnixMs(4_000), keep).unwrap();
            }
            let mut found = directory.names().unwrap();
            found.sort();
            let left = [0].into_iter().chain(left).map(name);
            assert_eq!(found, left.collect::<Vec<_>>(), "{keep} {made:?}");
        }
    }

    /// A clock that is set back during a backup does not make that backup the oldest.
    #[test]
    fn the_backup_that_was_just_made_stays() {
        let parent = tempfile::tempdir().unwrap();
        let directory = BackupDirectory::open(parent.path().to_owned()).unwrap();
        let [old, newest] = [1_000, 5_000].map(|ms| directory.file_at(UnixMs(ms)).unwrap());
        write_backup(&old, 7);
        write_backup(&newest, 7);
        let removed = directory.remove_old(&newest, UnixMs(4_000), NonZeroUsize::MIN).unwrap();
        assert_eq!(removed, [old]);
    }

    #[test]
    fn only_names_of_this_form_are_backups() {
        let name = file_name(Timestamp::from_millisecond(1_795_314_600_007).unwrap());
        assert_eq!(name, "kiosque-20261122T023000.007Z.db");
        assert_eq!(time_of(&name).unwrap().as_millisecond(), 1_795_314_600_007);
        for other in [
            "kiosque.db",
            "kiosque-monday.db",
            "kiosque-20261122T023000Z.db",
            "kiosque-20261122T023000.007Z.db.partial",
            "kiosque-20261122T023000.007+00.db",
            "kiosque-20261322T023000.007Z.db",
            "x-20261122T023000.007Z.db",
        ] {
            assert_eq!(time_of(other), None, "{other}");
        }
    }
}
