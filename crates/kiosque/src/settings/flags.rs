//! Command-line arguments, made of the descriptions of the settings.

use std::iter;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use kiosque_model::setting::{Configurable, HelpLevel, Setting, Topic};

use super::{CommonSettings, Given, console_settings, import_settings, serve_settings};

/// The settings of every command, as flags and variables give them.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommonFlags(pub(crate) Given);

impl Args for CommonFlags {
    fn augment_args(command: Command) -> Command {
        command.args(CommonSettings::SETTINGS.iter().map(|setting| argument(setting).global(true)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for CommonFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(CommonFlags(given(CommonSettings::SETTINGS.iter(), matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Declares the flags of commands with settings of their own.
macro_rules! command_flags {
    ($($(#[doc = $doc:literal])+ $Flags:ident: $settings:expr, $argument:path;)*) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Default)]
        pub(crate) struct $Flags(pub(crate) Given);

        impl Args for $Flags {
            fn augment_args(command: Command) -> Command {
                // Help texts list them after the settings of every command, by topic.
                let by_topic = Topic::ALL.into_iter().flat_map(|topic| {
                    $settings.filter(move |setting| setting.topic == topic)
                });
                command.next_display_order(10).args(by_topic.map($argument))
            }

            fn augment_args_for_update(command: Command) -> Command {
                Self::augment_args(command)
            }
        }

        impl FromArgMatches for $Flags {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                Ok($Flags(given($settings, matches)))
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    )*};
}

command_flags! {
    /// The settings of servers, as flags and variables give them.
    ServeFlags: serve_settings(), server_argument;
    /// The settings of imports of orders, as flags and variables give them.
    ImportFlags: import_settings(), argument;
    /// The settings of links to the console, as flags and variables give them.
    ConsoleFlags: console_settings(), argument;
}

fn argument(setting: &'static Setting) -> Arg {
    let check = |text: &str| (setting.check_syntax)(text).map(|()| text.to_owned());
    Arg::new(setting.name)
        .long(setting.name.replace('_', "-"))
        .value_name(setting.placeholder)
        .env(super::given::variable(setting))
        .hide_env_values(setting.is_secret)
        .help(help(setting))
        .value_hint(hint(setting))
        .value_parser(check)
}

/// Returns the argument of a setting of servers: `--help` explains it in full, under the heading of
/// its topic, and `-h` lists the usual ones alone, without their variables.
fn server_argument(setting: &'static Setting) -> Arg {
    let first = format!("{} [env: {}]", help(setting), super::given::variable(setting));
    let paragraphs: Vec<String> = iter::once(first).chain(setting.details()).collect();
    let argument = argument(setting)
        .hide_env(true)
        .long_help(paragraphs.join("\n\n"))
        .hide_short_help(setting.help_level == HelpLevel::Long);
    match setting.topic {
        Topic::General => argument,
        topic => argument.help_heading(topic.heading()),
    }
}

/// Returns the first paragraph of a help text, with the default.
fn help(setting: &Setting) -> String {
    let default = (setting.default)();
    let default = default.shown().map(|default| format!(" [default: {default}]"));
    setting.help() + &default.unwrap_or_default()
}

/// Returns the kind of values that shells propose.
fn hint(setting: &Setting) -> ValueHint {
    match setting.placeholder {
        "FILE" => ValueHint::FilePath,
        "DIR" => ValueHint::DirPath,
        _ => ValueHint::Other,
    }
}

fn given(settings: impl Iterator<Item = &'static Setting>, matches: &ArgMatches) -> Given {
    let given = settings.filter_map(|setting| {
        let value = matches.try_get_one::<String>(setting.name).ok().flatten()?;
        Some((setting.name, value.clone()))
    });
    given.collect()
}
