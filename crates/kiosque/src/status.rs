//! `kiosque status`

use std::fmt::Display;

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
    output.print(&overview, |overview| overview.sheet(store.zone()))
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
        let database = store.engine().database();
        let data = directory.filter(|_| store.engine().is_file());
        let server = data.and_then(|directory| server_process(directory).ok());
        let servers = server.map(|server| server.into_iter().collect());
        Overview { data: data.map(absolute), database, status, certificate, servers }
    }

    /// Returns the status for people: one line per value.
    fn sheet(&self, zone: &Zone) -> String {
        let Overview { status, .. } = self;
        let mut text = String::new();
        let mut line = |name: &str, value: &dyn Display| {
            let value = printable(&value.to_string());
            text += &format!("{:<15}{value}\n", format!("{name}:"));
        };
        line("version", &status.version);
        match (&self.data, &self.database) {
            (Some(data), _) => line("data", data),
            (None, database) => line("database", &database.as_deref().unwrap_or(ABSENT)),
        }
        line("time zone", &status.time_zone);
        line("layout", &status.layout);
        line("size", &self.size());
        line("groups", &status.group_count);
        line("accounts", &status.account_count);
        line("sessions", &status.session_count);
        line("keys", &status.key_count);
        line("products", &status.product_count);
        line("devices", &status.device_count);
        line("orders", &status.order_count);
        line("archived", &status.archived_count);
        line("last activity", &zoned_time(zone, status.last_active_timestamp));
        line("last rate", &status.last_rate_date.as_deref().unwrap_or(ABSENT));
        line("last backup", &self.last_backup(zone));
        line("certificate", &self.certificate(zone));
        line("servers", &self.servers(zone));
        text
    }

    fn size(&self) -> String {
        let Status { database_bytes, log_bytes, .. } = self.status;
        let log = log_bytes.map(|bytes| format!(", write-ahead log {}", size(bytes)));
        format!("{}{}", size(database_bytes), log.unwrap_or_default())
    }

    fn last_backup(&self, zone: &Zone) -> String {
        let Some(backup) = &self.status.last_backup else {
            return match self.database {
                Some(_) => "by the tools of the database server".to_owned(),
                None => "none by kiosque backup".to_owned(),
            };
        };
        let at = zoned_time(zone, Some(backup.timestamp));
        let age = age(Clock::System.now().0.saturating_sub(backup.timestamp));
        let orders = counted(backup.orders, "order");
        format!("{at}, {age} ago, {orders}, {}", backup.file)
    }

    fn certificate(&self, zone: &Zone) -> String {
        let Some(certificate) = &self.certificate else {
            return "none yet; a server creates a self-signed one unless --tls-cert is given"
                .to_owned();
        };
        let end = zoned_time(zone, certificate.not_after_timestamp);
        let state = match certificate.not_after_timestamp {
            Some(at) if UnixMs(at) <= Clock::System.now() => format!("expired at {end}"),
            Some(_) => format!("valid until {end}"),
            None => "cannot be read".to_owned(),
        };
        format!("{state}, {}", certificate.file)
    }

    fn servers(&self, zone: &Zone) -> String {
        match (&self.servers, self.database.is_some()) {
            (Some(servers), _) => match servers.first() {
                Some(server) => format!("{} (process {})", server.command, server.pid),
                None => "none".to_owned(),
            },
            (None, true) => {
                let nodes = &self.status.node_timestamps;
                let last = nodes.first().copied();
                let nodes = counted(nodes.len(), "node");
                // A command joins like a server, and does not report its end.
                format!(
                    "{nodes} with a lease in the last 30 s, commands among them, the latest at {}",
                    zoned_time(zone, last)
                )
            }
            (None, false) => "unknown: kiosque.lock cannot be read".to_owned(),
        }
    }
}

/// Returns a time with its zone.
fn zoned_time(zone: &Zone, ms: Option<i64>) -> String {
    match ms {
        Some(_) => format!("{} {zone}", time(zone, ms)),
        None => ABSENT.to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        let ages = [-1, 61_000, 7_199_999, 7_200_000, 172_800_000].map(age);
        assert_eq!(ages, ["0 minutes", "1 minute", "119 minutes", "2 hours", "2 days"]);
    }
}
