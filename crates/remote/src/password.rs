//! Sources of passwords.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kiosque_client::{read_bounded, read_file, read_text_file};
use sha2::{Digest, Sha256};

/// The permissions of other users of the machine.
const OTHERS: u32 = 0o077;

/// The source of a password.
#[derive(Clone)]
pub enum PasswordSource {
    /// A file that only its owner may access, with [one line](one_line).
    File(PathBuf),
    /// A command for `sh -c`, which prints one line.
    Command(String),
    /// This text, for one login. It is not stored.
    Once(String),
}

impl std::fmt::Debug for PasswordSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PasswordSource::File(file) => write!(f, "File({})", file.display()),
            PasswordSource::Command(_) => f.write_str("Command"),
            PasswordSource::Once(_) => f.write_str("Once"),
        }
    }
}

impl PasswordSource {
    /// Reads the password.
    ///
    /// # Errors
    /// A message with the source, and the command that fixes it.
    pub fn read(&self) -> Result<String, String> {
        match self {
            PasswordSource::File(file) => from_file(file),
            PasswordSource::Command(command) => from_command(command),
            PasswordSource::Once(text) => Ok(text.clone()),
        }
    }

    /// Adds everything to a digest that reveals a change of the password, except the output of a
    /// command.
    pub(crate) fn update(&self, digest: &mut Sha256) {
        match self {
            PasswordSource::File(file) => {
                digest.update(format!("file\n{}\n", file.display()));
                let Ok(meta) = fs::metadata(file) else { return };
                let (time, nanos) = (meta.mtime(), meta.mtime_nsec());
                digest.update(format!("{} {time} {nanos}\n", meta.len()));
                // A pipe is read once, for the login. An unreadable file now differs from the one
                // whose password was refused.
                if meta.is_file() {
                    digest.update(read_file(file).unwrap_or_default());
                }
            }
            PasswordSource::Command(command) => digest.update(format!("command\n{command}\n")),
            PasswordSource::Once(text) => digest.update(format!("once\n{text}\n")),
        }
    }
}

fn from_file(file: &Path) -> Result<String, String> {
    let name = file.display();
    let failed = |error| format!("cannot read the password file {name}: {error}");
    let meta = fs::metadata(file).map_err(failed)?;
    let mode = meta.permissions().mode() & 0o777;
    if meta.is_file() && mode & OTHERS != 0 {
        return Err(format!(
            "other users may access the password file {name} (mode {mode:o}); run: chmod 600 {name}"
        ));
    }
    let text = read_text_file(file).map_err(failed)?;
    one_line(&text).map_err(|reason| {
        format!("the password file {name} {reason}; write the password to it, on one line")
    })
}

fn from_command(command: &str) -> Result<String, String> {
    let mut shell = Command::new("sh");
    // Its messages are for the user.
    shell.args(["-c", command]).stdin(Stdio::null()).stderr(Stdio::inherit());
    let failed = |error| format!("the password command cannot run: {error}");
    let mut running = shell.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let printed = running.stdout.take().map_or_else(|| Ok(Vec::new()), read_bounded);
    if printed.is_err() {
        // It may print without an end. One that has ended cannot be killed, and need not be.
        let _ = running.kill();
    }
    let status = running.wait().map_err(failed)?;
    let printed = printed
        .map_err(|error| format!("cannot read what the password command printed: {error}"))?;
    if !status.success() {
        return Err(format!("the password command failed ({status}): {command}"));
    }
    let text = String::from_utf8(printed);
    let text = text.map_err(|_| "the password command printed bytes that are not UTF-8")?;
    one_line(&text)
        .map_err(|reason| format!("the output of the password command {reason}: {command}"))
}

/// Returns a password from a text that is one line. Line breaks at its end are removed.
///
/// # Errors
/// The text has no line, or several, of which a server would refuse all as one password.
pub fn one_line(text: &str) -> Result<String, &'static str> {
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err("is empty"),
        lines if lines.contains(['\r', '\n']) => Err("has more than one line"),
        line => Ok(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_a_line_of_a_file_or_of_the_output_of_a_command() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("pw");
        fs::write(&file, "s p\r\n").expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("set");
        assert_eq!(PasswordSource::File(file).read().as_deref(), Ok("s p"));

        let of = |command: &str| PasswordSource::Command(command.to_owned()).read();
        assert_eq!(of("printf 'a b\\n'").as_deref(), Ok("a b"));
        let output = |reason: &str| Err(format!("the output of the password command {reason}"));
        assert_eq!(of(":"), output("is empty: :"));
        assert_eq!(of("printf 'a\r\nb'"), output("has more than one line: printf 'a\r\nb'"));
    }

    #[test]
    fn a_password_is_read_up_to_the_limit() {
        let reason = "it has more than 4194304 bytes, the limit; check that it is the intended one";
        let file = PasswordSource::File("/dev/zero".into()).read();
        let refused = format!("cannot read the password file /dev/zero: {reason}");
        assert_eq!(file, Err(refused));
        let command = PasswordSource::Command("exec cat /dev/zero".to_owned()).read();
        let refused = format!("cannot read what the password command printed: {reason}");
        assert_eq!(command, Err(refused));
    }

    /// A digest is computed after a login was refused: a pipe would then wait for a writer.
    #[test]
    fn the_digest_of_a_pipe_does_not_read_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let pipe = directory.path().join("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status().expect("a program");
        assert!(made.success());
        let (sent, received) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            PasswordSource::File(pipe).update(&mut Sha256::new());
            sent.send(())
        });
        received.recv_timeout(std::time::Duration::from_secs(60)).expect("a digest");
    }

    #[test]
    fn the_debug_text_has_no_password() {
        let shown = format!("{:?}", PasswordSource::Once("hunter2".to_owned()));
        assert_eq!(shown, "Once");
    }
}
