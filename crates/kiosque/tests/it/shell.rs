//! Commands that run with other settings of the operating system.

use std::process::{Command, Stdio};

/// Returns the same command, run by a shell after `before`, such as `umask 0`.
pub(crate) fn after(before: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{before}; exec \"$@\""), "sh"]);
    shell.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        shell.current_dir(directory);
    }
    shell
}

/// Sends a GET to the operator's listener, and returns the status and the body. The certificate is
/// not verified: it may have expired.
pub(crate) fn get(served: &kiosque_testkit::Served, path: &str) -> (u16, String) {
    let url = format!("https://{}{path}", served.operator());
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--insecure", "--write-out", "\n%{http_code}", &url]);
    let ran = kiosque_testkit::Ran::of(&mut curl).success();
    let (body, status) = ran.stdout.rsplit_once('\n').unwrap();
    (status.parse().unwrap(), body.to_owned())
}
