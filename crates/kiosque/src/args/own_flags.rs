//! Global flags in the help of each command: a command shows the ones that it uses. It accepts the
//! others as well, so that a script may pass the same flags to all.

use clap::{Arg, Command};

use crate::settings;

/// Gives each command below `root` copies of the root's global flags; its help shows the ones that
/// it uses.
pub(super) fn show_used(root: Command) -> Command {
    let global: Vec<Arg> =
        root.get_arguments().filter(|flag| flag.is_global_set()).cloned().collect();
    root.mut_subcommands(|command| {
        let path = command.get_name().to_owned();
        with_copies(command, &path, &global)
    })
}

fn with_copies(command: Command, path: &str, global: &[Arg]) -> Command {
    // A command that needs a subcommand does nothing itself.
    let shown = if command.is_subcommand_required_set() { &[] } else { used_by(path) };
    let copies = global.iter().map(|flag| {
        let is_shown = shown.contains(&flag.get_id().as_str());
        flag.clone().hide(!is_shown)
    });
    let command = command.next_display_order(10).args(settings::flags_of(path)).args(copies);
    command.mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        with_copies(below, &path, global)
    })
}

/// Returns the global flags that a command uses, by its path below `kiosque`.
fn used_by(path: &str) -> &'static [&'static str] {
    match path {
        "serve" => &["config", "data", "store", "log", "log_format"],
        "demo" => &["config", "data", "timezone", "log", "log_format"],
        "check" => &[],
        "fault-proxy" => &["log", "log_format"],
        "init" | "apply" => &["config", "data", "store", "timezone"],
        "backup" | "restore" => &["config", "data"],
        "broker" => &["log", "log_format"],
        "schema" | "openapi" | "completions" | "man" | "config print" | "broker status" => &[],
        path if path.starts_with("remote ") => &[],
        _ => &["config", "data", "store"],
    }
}
