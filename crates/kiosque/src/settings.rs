//! Settings. Each is declared once: here, in [`kiosque_server::Settings`] or in [`Limits`]; its
//! flag, its environment variable and its key of the settings file derive from its name. A flag
//! takes precedence over a variable, and a variable over the file.

mod flags;
mod given;
mod template;

use std::any::TypeId;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Arg, Args, Command};
use kiosque_model::Limits;
use kiosque_model::setting::{duration, positive_duration, written};
use kiosque_server::Settings as ServerSettings;
use kiosque_store::{SessionLease, StoreLocation};

use crate::log::{LogFilter, LogFormat};

pub(crate) use flags::{common_flags, flags_of};
pub(crate) use given::{Given, unknown_variables, variable_named};
pub(crate) use template::template;

/// The variable with the path of the settings file.
pub(crate) const CONFIG_VARIABLE: &str = "KIOSQUE_CONFIG";

/// Settings of every command that opens the data.
#[derive(Args, Clone, Debug)]
pub(crate) struct CommonSettings {
    /// Directory that holds the data.
    #[arg(long, value_name = "DIR", value_parser = path)]
    pub(crate) data: Option<PathBuf>,
    /// Use this PostgreSQL database for the data instead,
    /// postgres://user:password@host:5432/database; of several hosts, the one that accepts writes
    /// is used.
    #[arg(long, value_name = "URL", hide_env_values = true)]
    pub(crate) store: Option<StoreAddress>,
    /// Time zone of the platform, such as Europe/Paris; recorded when the data is created
    /// [default: UTC; init requires one].
    #[arg(long, value_name = "ZONE")]
    pub(crate) timezone: Option<String>,
    /// Log filter: error, warn, info or debug, also by module, as in warn,kiosque_server=debug.
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub(crate) log: LogFilter,
    /// Format of the log: text, or json for one object per line.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// Settings of `serve` and `demo` that the program itself uses.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServeSettings {
    /// Address to serve on.
    #[arg(long, default_value = "127.0.0.1:8443", value_parser = address, help_heading = "Network")]
    pub(crate) listen: SocketAddr,
    /// Address of the operator's calls, /livez, /readyz and /metrics.
    #[arg(long, default_value = "127.0.0.1:8444", value_parser = address, help_heading = "Network")]
    pub(crate) operator_listen: SocketAddr,
    /// Certificate and its chain, PEM [default: a self-signed one in DIR/tls].
    #[arg(long, value_name = "FILE", value_parser = path, help_heading = "TLS")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate, PEM.
    #[arg(long, value_name = "FILE", value_parser = path, help_heading = "TLS")]
    pub(crate) tls_key: Option<PathBuf>,
    /// With --store: how long a node trusts the session data it has read after its last write that
    /// reached the standby; the same on all nodes.
    #[arg(long, default_value = written(SessionLease::default().length))]
    #[arg(value_parser = positive_duration, help_heading = "Cluster", hide_short_help = true)]
    pub(crate) session_lease: Duration,
    /// With --store: maximum difference between a node's clock and the database's.
    #[arg(long, default_value = written(SessionLease::default().clock_skew))]
    #[arg(value_parser = duration, help_heading = "Cluster", hide_short_help = true)]
    pub(crate) clock_skew: Duration,
}

fn path(text: &str) -> Result<PathBuf, &'static str> {
    if text.is_empty() { Err("a path must not be empty") } else { Ok(text.into()) }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!(
            "{text:?} is not an address; write it like 0.0.0.0:8443 or [::1]:8443, with an IP \
             address, not a host name"
        )
    })
}

/// The text before a default in the documentation of a setting, if the default is not a value.
const DEFAULT: &str = " [default: ";

/// The topics of settings, in the order of help texts and of the printed file. A setting without a
/// heading belongs to the first.
const TOPICS: [&str; 6] = ["General", "Network", "TLS", "Logins", "Limits", "Cluster"];

fn topic(setting: &Arg) -> &str {
    setting.get_help_heading().unwrap_or(TOPICS[0])
}

/// Returns the settings of every command that opens the data.
fn common_settings() -> Vec<Arg> {
    declared(CommonSettings::augment_args(Command::new("")))
}

/// Returns the settings of servers, by topic.
fn server_settings() -> Vec<Arg> {
    let command = ServeSettings::augment_args(Command::new(""));
    let mut settings = declared(ServerSettings::augment_args(command));
    settings.sort_by_key(|setting| TOPICS.iter().position(|it| *it == topic(setting)));
    settings
}

fn all_settings() -> impl Iterator<Item = Arg> {
    common_settings().into_iter().chain(server_settings())
}

/// The placeholder of settings that a settings file writes as an integer.
const INTEGER: &str = "N";

/// The placeholder of settings that a settings file may write as a list of strings.
const LIST: &str = "A,B";

/// Returns the settings of a command, with the placeholders of common types.
fn declared(command: Command) -> Vec<Arg> {
    let integers = [TypeId::of::<usize>(), TypeId::of::<u32>(), TypeId::of::<i64>()];
    let settings = command.get_arguments().cloned().map(|setting| {
        let kind = setting.get_value_parser().type_id();
        if integers.iter().any(|it| kind == *it) {
            setting.value_name(INTEGER)
        } else if kind == TypeId::of::<Duration>() {
            setting.value_name("DURATION")
        } else if kind == TypeId::of::<SocketAddr>() {
            setting.value_name("ADDR")
        } else {
            setting
        }
    });
    settings.collect()
}

/// Returns the placeholder of a setting's value in help texts, such as `DIR`.
fn placeholder(setting: &Arg) -> &str {
    setting.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str())
}

/// Returns the first paragraph of a setting's documentation, without its full stop.
fn documentation(setting: &Arg) -> String {
    setting.get_help().map(ToString::to_string).unwrap_or_default()
}

/// Returns the other paragraphs of a setting's documentation.
fn details(setting: &Arg) -> Vec<String> {
    let text = setting.get_long_help().map(ToString::to_string).unwrap_or_default();
    text.split("\n\n").skip(1).map(str::to_owned).collect()
}

/// Returns the default of a setting; `None` if the documentation describes it, or if there is none.
fn default_value(setting: &Arg) -> Option<&str> {
    let is_described = documentation(setting).contains(DEFAULT);
    setting.get_default_values().first().filter(|_| !is_described)?.to_str()
}

/// The settings of a run.
pub(crate) struct Settings {
    pub(crate) common: CommonSettings,
    pub(crate) serve: ServeSettings,
    given: Given,
}

impl Settings {
    /// Combines the values of flags and variables with the values of the settings file.
    pub(crate) fn new(flags: Given, config: Option<&Path>) -> anyhow::Result<Settings> {
        let given = flags.or_variables()?;
        let given = match config {
            Some(path) => given.or_file(path)?,
            None => given,
        };
        Ok(Settings { common: given.parse()?, serve: given.parse()?, given })
    }

    /// Returns whether a flag, a variable or the file specifies this setting.
    pub(crate) fn gives(&self, name: &str) -> bool {
        self.given.contains(name)
    }

    /// Returns the flag, the variable, or the file and key of a setting, for messages.
    pub(crate) fn source<'s>(&'s self, name: &'s str) -> &'s str {
        self.given.source(name)
    }

    /// Returns how long a node may rely on its session data.
    pub(crate) fn lease(&self) -> SessionLease {
        let ServeSettings { session_lease, clock_skew, .. } = self.serve;
        SessionLease { length: session_lease, clock_skew }
    }

    /// Returns the limits; an import of orders uses one of them.
    pub(crate) fn limits(&self) -> anyhow::Result<Limits> {
        self.given.parse()
    }

    /// Returns the server's settings; only commands that serve check them.
    pub(crate) fn server(&self) -> anyhow::Result<ServerSettings> {
        self.given.parse()
    }
}

/// The address of a database. It may contain a password and is never printed.
#[derive(Clone)]
pub(crate) struct StoreAddress(String);

impl StoreAddress {
    pub(crate) fn location(&self) -> StoreLocation<'_> {
        StoreLocation::Postgres(&self.0)
    }

    /// Returns the database and its hosts, for messages.
    pub(crate) fn shown(&self) -> String {
        kiosque_store::shown_address(&self.0)
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreAddress(***)")
    }
}

/// Accepts any text, which the store checks later: an error of the command line would show it, with
/// its password.
impl From<String> for StoreAddress {
    fn from(text: String) -> StoreAddress {
        StoreAddress(text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<String> = all_settings().map(|it| it.get_id().to_string()).collect();
        assert_eq!(names.len(), all_settings().count());
    }
}
