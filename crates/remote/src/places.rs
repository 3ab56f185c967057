//! The directories of `kiosque remote`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::error::CommandError;

/// The directories of profiles and of sessions.
#[derive(Clone, Debug)]
pub struct Places {
    pub(crate) profiles: PathBuf,
    pub(crate) sessions: PathBuf,
}

impl Places {
    /// Returns the directories, according to the variables of the XDG base directories. Relative
    /// paths are ignored, as that specification requires.
    ///
    /// # Errors
    /// Neither the variables nor `HOME` specify a directory.
    pub fn of(variable: impl Fn(&str) -> Option<OsString>) -> Result<Places, CommandError> {
        let absolute =
            |name| variable(name).map(PathBuf::from).filter(|directory| directory.is_absolute());
        let home = |below: &str| absolute("HOME").map(|home| home.join(below));
        let missing = |what: &str, names: &str| {
            CommandError::Usage(format!("no directory for {what}: set {names} or HOME"))
        };
        let profiles = absolute("XDG_CONFIG_HOME").or_else(|| home(".config"));
        let sessions = absolute("XDG_RUNTIME_DIR")
            .or_else(|| absolute("XDG_STATE_HOME"))
            .or_else(|| home(".local/state"));
        Ok(Places {
            profiles: profiles
                .ok_or_else(|| missing("profiles", "XDG_CONFIG_HOME"))?
                .join("kiosque"),
            sessions: sessions
                .ok_or_else(|| missing("sessions", "XDG_RUNTIME_DIR, XDG_STATE_HOME"))?
                .join("kiosque"),
        })
    }
}
