//! The flags of settings, and their help texts.

use std::iter;

use clap::{Arg, Args, Command, ValueHint};
use kiosque_model::Limits;

use super::given::{Text, check_syntax, variable};
use super::{common_settings, default_value, details, documentation, placeholder, server_settings};

/// The limit that also applies to imports of orders.
const IMPORT_SETTING: &str = "order_lead_max";

/// Returns the flags of every command.
pub(crate) fn common_flags() -> impl Iterator<Item = Arg> {
    common_settings().into_iter().map(|setting| flag(&setting).global(true))
}

/// Returns the flags of a command's other settings, by its path below `kiosque`.
pub(crate) fn flags_of(path: &str) -> Vec<Arg> {
    let settings = server_settings();
    let name = match path {
        "serve" | "demo" => return settings.iter().map(server_flag).collect(),
        "import orders" => IMPORT_SETTING,
        "console-link" => "operator_listen",
        _ => return Vec::new(),
    };
    let only = settings.iter().filter(|setting| setting.get_id() == name);
    only.map(|setting| flag(setting).help_heading(None::<&str>)).collect()
}

/// Returns the flag of a setting, which has a text as its value.
fn flag(setting: &Arg) -> Arg {
    let checked = setting.clone();
    let check = move |text: &str| check_syntax(&checked, text).map(|()| Text(text.to_owned()));
    setting
        .clone()
        .default_value(None::<&str>)
        .display_order(None)
        .env(variable(setting))
        .help(help(setting))
        .long_help(None::<&str>)
        .value_hint(hint(setting))
        .value_parser(check)
}

/// Returns the flag of a server setting: `--help` explains it in full, and `-h` only lists the
/// usual ones, without their variables.
fn server_flag(setting: &Arg) -> Arg {
    let first = format!("{} [env: {}]", help(setting), variable(setting));
    let paragraphs: Vec<String> = iter::once(first).chain(details(setting)).collect();
    flag(setting)
        .hide_env(true)
        .long_help(paragraphs.join("\n\n"))
        .hide_short_help(is_for_experts(setting))
}

/// Returns whether only `--help` lists a setting: it is marked so, or it is a limit of servers
/// only.
fn is_for_experts(setting: &Arg) -> bool {
    let limits = Limits::augment_args(Command::new(""));
    let is_limit = limits.get_arguments().any(|limit| limit.get_id() == setting.get_id());
    setting.is_hide_short_help_set() || (is_limit && setting.get_id() != IMPORT_SETTING)
}

/// Returns the first paragraph of a help text, with the default.
fn help(setting: &Arg) -> String {
    let help = documentation(setting);
    match default_value(setting) {
        Some(default) => format!("{help} [default: {default}]"),
        None => help,
    }
}

/// Returns the kind of values that shells complete.
fn hint(setting: &Arg) -> ValueHint {
    match placeholder(setting) {
        "FILE" => ValueHint::FilePath,
        "DIR" => ValueHint::DirPath,
        _ => ValueHint::Other,
    }
}
