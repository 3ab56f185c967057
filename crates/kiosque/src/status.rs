//! `kiosque status`

use std::fmt::{self, Display};
use std::path::Path;

use kiosque_clock::Clock;
use kiosque_contract::inventory::Status;
use kiosque_listener::tls;
use kiosque_model::{UnixMs, Zone, counted, size};
use kiosque_store::{ServerProcess, Store, server_process};
use serde::Serialize;

use crate::open;
use crate::output::{Output, absolute, eprint_line, time};
use crate::settings::Settings;
use crate::table::{ABSENT, printable};

pub(crate) async fn run(settings: &Settings, output: Output) -> anyhow::Result<()> {
    let store = open::store(settings).await?;
    let status = store.inventory().status(Clock::System.now()).await?;
    if let Err(error) = store.upkeep().check_undamaged().await {
        eprint_line!("warning: {error}");
    }
    let overview = Overview::of(settings, &store, status);
    output.print(&overview, |overview| Sheet { overview, zone: store.zone() })
}

/// The state of the data, of the certificate, and of the servers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Overview {
    /// The directory of the data, absolute; null for a database server.
    data: Option<String>,
    /// The hosts and the name of the database; null for a directory.
    database: Option<String>,
    #[serde(flatten)]
    status: Status,
    certificate: Option<CertificateEnd>,
    /// The process that serves the directory, if any; null for a database server, and if this user
    /// may not check.
    servers: Option<Vec<ServerProcess>>,
}

/// A certificate's file and the end of its validity.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CertificateEnd {
    file: String,
    /// Null if the file cannot be read.
    not_after_timestamp: Option<i64>,
}

impl Overview {
    fn of(settings: &Settings, store: &Store, status: Status) -> Overview {
        let directory = settings.common.data.as_deref();
        let own = directory.map(|directory| directory.join("tls/cert.pem"));
        let own = own.filter(|file| file.is_file());
        let certificate = settings.serve.tls_cert.clone().or(own).map(|file| CertificateEnd {
            not_after_timestamp: tls::not_after(&file).ok().map(|end| end.0),
            file: absolute(&file),
        });
        let (database, data) = (store.database(), directory.filter(|_| store.is_file()));
        let servers = data.and_then(serving);
        Overview { data: data.map(absolute), database, status, certificate, servers }
    }
}

/// The status for people: one line per value.
struct Sheet<'a> {
    overview: &'a Overview,
    zone: &'a Zone,
}

impl Display for Sheet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Overview { status, .. } = self.overview;
        let mut line = |name: &str, value: &dyn Display| {
            writeln!(f, "{:<15}{}", format!("{name}:"), printable(&value.to_string()))
        };
        line("version", &status.version)?;
        match (&self.overview.data, &self.overview.database) {
            (Some(data), _) => line("data", data)?,
            (None, database) => line("database", &database.as_deref().unwrap_or(ABSENT))?,
        }
        line("time zone", &status.time_zone)?;
        line("layout", &status.layout)?;
        line("size", &self.size())?;
        line("groups", &status.group_count)?;
        line("accounts", &status.account_count)?;
        line("sessions", &status.session_count)?;
        line("keys", &status.key_count)?;
        line("products", &status.product_count)?;
        line("devices", &status.device_count)?;
        line("orders", &status.order_count)?;
        line("archived", &status.archived_count)?;
        line("last activity", &self.time(status.last_active_timestamp))?;
        line("last rate", &status.last_rate_date.as_deref().unwrap_or(ABSENT))?;
        line("last backup", &self.last_backup())?;
        line("certificate", &self.certificate())?;
        line("servers", &self.servers())
    }
}

impl Sheet<'_> {
    fn size(&self) -> String {
        let Status { database_bytes, log_bytes, .. } = self.overview.status;
        let log = log_bytes.map(|bytes| format!(", write-ahead log {}", size(bytes)));
        format!("{}{}", size(database_bytes), log.unwrap_or_default())
    }

    /// Returns a time with its zone.
    fn time(&self, ms: Option<i64>) -> String {
        match ms {
            Some(_) => format!("{} {}", time(self.zone, ms), self.zone),
            None => ABSENT.to_owned(),
        }
    }

    fn last_backup(&self) -> String {
        let Some(backup) = &self.overview.status.last_backup else {
            return match self.overview.database {
                Some(_) => "by the tools of the database server".to_owned(),
                None => "none by kiosque backup".to_owned(),
            };
        };
        let (at, orders) = (self.time(Some(backup.timestamp)), counted(backup.orders, "order"));
        let age = age(Clock::System.now().0.saturating_sub(backup.timestamp));
        format!("{at}, {age} ago, {orders}, {}", backup.file)
    }

    fn certificate(&self) -> String {
        let Some(certificate) = &self.overview.certificate else {
            return "none yet; a server creates a self-signed one unless --tls-cert is given"
                .to_owned();
        };
        let end = self.time(certificate.not_after_timestamp);
        let state = match certificate.not_after_timestamp {
            Some(at) if UnixMs(at) <= Clock::System.now() => format!("expired at {end}"),
            Some(_) => format!("valid until {end}"),
            None => "cannot be read".to_owned(),
        };
        format!("{state}, {}", certificate.file)
    }

    fn servers(&self) -> String {
        match (&self.overview.servers, self.overview.database.is_some()) {
            (Some(servers), _) if servers.is_empty() => "none".to_owned(),
            (Some(servers), _) => {
                let names =
                    servers.iter().map(|one| format!("{} (process {})", one.command, one.pid));
                names.collect::<Vec<_>>().join(", ")
            }
            (None, true) => {
                let nodes = &self.overview.status.node_timestamps;
                let (last, nodes) = (nodes.first().copied(), counted(nodes.len(), "node"));
                // A command joins like a server, and does not report its end.
                format!(
                    "{nodes} with a lease in the last 30 s, commands among them, the latest at {}",
                    self.time(last)
                )
            }
            (None, false) => "unknown: kiosque.lock cannot be read".to_owned(),
        }
    }
}

/// Returns an age in whole minutes, hours or days.
fn age(ms: i64) -> String {
    let minutes = ms.max(0) / 60_000;
    match minutes {
        0..120 => counted(minutes, "minute"),
        120..2_880 => counted(minutes / 60, "hour"),
        _ => counted(minutes / 1_440, "day"),
    }
}

/// Returns the server on a directory, or none; `None` if that cannot be read.
fn serving(directory: &Path) -> Option<Vec<ServerProcess>> {
    Some(server_process(directory).ok()?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        let ages = [-1, 61_000, 7_199_999, 7_200_000, 172_800_000].map(age);
        assert_eq!(ages, ["0 minutes", "1 minute", "119 minutes", "2 hours", "2 days"]);
    }
}
