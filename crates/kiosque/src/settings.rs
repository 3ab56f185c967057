//! Settings. Each is declared once, here, in [`kiosque_server::Settings`] or in [`Limits`]; its
//! flag, its environment variable and its key of the configuration file derive from its name. A
//! flag takes precedence over a variable, and a variable over the file.

mod flags;
mod given;
mod template;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::time::Duration;

use kiosque_model::setting::{Configurable, Setting, SettingValue, positive};
use kiosque_model::{Limits, settings};
use kiosque_server::Settings as ServerSettings;
use kiosque_store::{SessionLease, StoreLocation};

use crate::log::{LogFilter, LogFormat};

pub(crate) use flags::{CommonFlags, ConsoleFlags, ImportFlags, ServeFlags};
pub(crate) use given::Given;
pub(crate) use template::template;

/// The variable that names the configuration file.
pub(crate) const CONFIG_VARIABLE: &str = "KIOSQUE_CONFIG";

settings! {
    /// Settings of every command that opens the data.
    #[derive(Clone, Debug)]
    pub(crate) struct CommonSettings(_cores) {
        /// Directory that holds the data.
        data: Option<PathBuf> = None, topic General, help Short, placeholder "DIR";
        /// Keep the data in this PostgreSQL database instead,
        /// postgres://user:password@host:5432/database; of several hosts, the one that accepts
        /// writes is used.
        store: Option<StoreAddress> = None, topic General, help Short;
        /// Time zone of the platform, such as Europe/Paris; recorded when the data is created.
        timezone: Option<String> = None, topic General, help Short, placeholder "ZONE", shown "UTC";
        /// Log filter: error, warn, info or debug, also by module, as in warn,kiosque_server=debug.
        log: LogFilter = LogFilter::default(), topic General, help Short;
        /// Format of the log: text, or json for one object a line.
        log_format: LogFormat = LogFormat::Text, topic General, help Short;
    }
}

settings! {
    /// Settings of `serve` and `demo` that the program itself uses.
    #[derive(Clone, Debug)]
    pub(crate) struct ServeSettings(_cores) {
        /// Address to serve on.
        listen: SocketAddr = loopback(8443), topic Network, help Short;
        /// Address of the operator's calls, /livez, /readyz and /metrics.
        operator_listen: SocketAddr = loopback(8444), topic Network, help Short;
        /// Certificate and its chain, PEM.
        tls_cert: Option<PathBuf> = None,
            topic Tls, help Short, shown "a self-signed one in DIR/tls";
        /// Private key of the certificate, PEM.
        tls_key: Option<PathBuf> = None, topic Tls, help Short;
        /// With --store: how long a node trusts the session data it has read after its last write
        /// that reached the standby; the same on all nodes.
        session_lease: Duration = SessionLease::default().length, topic Cluster, check positive;
        /// With --store: largest difference between a node's clock and the database's.
        clock_skew: Duration = SessionLease::default().clock_skew, topic Cluster;
    }
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port).into()
}

/// Returns the settings of servers, in the order of help texts.
fn serve_settings() -> impl Iterator<Item = &'static Setting> {
    let program = ServeSettings::SETTINGS.iter();
    program.chain(ServerSettings::SETTINGS).chain(Limits::SETTINGS)
}

/// The setting of servers that imports of orders have as well.
const IMPORT_SETTING: &str = "order_lead_max";

/// Returns the settings of imports of orders.
fn import_settings() -> impl Iterator<Item = &'static Setting> {
    Limits::SETTINGS.iter().filter(|setting| setting.name == IMPORT_SETTING)
}

/// The setting of servers that links to the console have as well.
const CONSOLE_SETTING: &str = "operator_listen";

/// Returns the settings of links to the console.
fn console_settings() -> impl Iterator<Item = &'static Setting> {
    ServeSettings::SETTINGS.iter().filter(|setting| setting.name == CONSOLE_SETTING)
}

/// Returns every setting.
fn all_settings() -> impl Iterator<Item = &'static Setting> {
    CommonSettings::SETTINGS.iter().chain(serve_settings())
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) common: CommonSettings,
    pub(crate) serve: ServeSettings,
    given: Given,
}

impl Settings {
    /// Combines the values of flags and variables with those of the configuration file.
    pub(crate) fn new(flags: Given, config: Option<&Path>) -> anyhow::Result<Settings> {
        given::warn_of_unknown_variables();
        let given = match config {
            Some(path) => flags.or_file(path)?,
            None => flags,
        };
        let cores = cores();
        let (mut common, mut serve) =
            (CommonSettings::for_cores(cores), ServeSettings::for_cores(cores));
        given.assign_to(&mut common)?;
        given.assign_to(&mut serve)?;
        Ok(Settings { common, serve, given })
    }

    /// Whether a flag, a variable or the file gives this setting.
    pub(crate) fn gives(&self, name: &str) -> bool {
        self.given.contains(name)
    }

    /// Returns how long a node may rely on its session data.
    pub(crate) fn lease(&self) -> SessionLease {
        let ServeSettings { session_lease, clock_skew, .. } = self.serve;
        SessionLease { length: session_lease, clock_skew }
    }

    /// Returns the limits, of which an import of orders uses [`IMPORT_SETTING`].
    pub(crate) fn limits(&self) -> anyhow::Result<Limits> {
        let mut limits = Limits::for_cores(cores());
        self.given.assign_to(&mut limits)?;
        Ok(limits)
    }

    /// Returns the server's settings; only commands that serve check them.
    pub(crate) fn server(&self) -> anyhow::Result<ServerSettings> {
        let mut settings = ServerSettings::for_cores(cores());
        self.given.assign_to(&mut settings)?;
        self.given.assign_to(&mut settings.limits)?;
        Ok(settings)
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
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

impl SettingValue for StoreAddress {
    const PLACEHOLDER: &'static str = "URL";
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, String> {
        let is_postgres = ["postgres://", "postgresql://"].iter().any(|it| text.starts_with(it));
        if is_postgres {
            Ok(StoreAddress(text.to_owned()))
        } else {
            Err("expected a postgres:// URL".to_owned())
        }
    }

    fn show(&self) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kiosque_model::setting::SettingDefault;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<&str> = all_settings().map(|setting| setting.name).collect();
        assert_eq!(names.len(), all_settings().count());
    }

    #[test]
    fn every_default_that_is_a_value_may_be_given() {
        for setting in all_settings() {
            if let SettingDefault::Value(default) = (setting.default)() {
                assert_eq!((setting.check_syntax)(&default), Ok(()), "{}", setting.name);
            }
        }
    }
}
