//! Commands that run with other settings of the operating system.

use std::process::{Command, Stdio};

/// Returns the same command, run by a shell after `before`, such as `umask 0`.
pub(crate) fn after(before: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{before}; exec \"$@\""), "sh"]);
    shell.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    take_environment(&mut shell, command);
    if let Some(directory) = command.get_current_dir() {
        shell.current_dir(directory);
    }
    shell
}

/// Gives a command the changes of another one's environment.
pub(crate) fn take_environment(command: &mut Command, of: &Command) {
    for (name, value) in of.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
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
