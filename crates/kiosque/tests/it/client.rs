//! `kiosque-client` with a real server, over TLS.

mod sharing;
mod walking;

use kiosque_client::session::Pace;
use kiosque_client::{Account, Profile};
use kiosque_store::AuditQuery;
use kiosque_testkit::{FleetToml, OrderLine, TestServer};

pub(super) const GROUPS: [&str; 3] = ["north", "south", "west"];
const DEVICES: [&str; 2] = ["1", "2"];

/// Starts a server with three groups of two devices, each with some orders.
pub(super) async fn server() -> TestServer {
    let mut fleet = FleetToml::new();
    for group in GROUPS {
        fleet = fleet.group(group, group);
    }
    fleet = fleet.cheap_account("ops", &GROUPS).product("cola", "Cola", "EUR");
    for (group, device) in kiosks() {
        fleet = fleet.device(&format!("{group}-{device}"), "Kiosk", group);
    }
    let server = TestServer::start(fleet).await;
    for (group, device) in kiosks() {
        server.import_valid(orders(&format!("{group}-{device}"), 0..30)).await;
    }
    server
}

fn kiosks() -> impl Iterator<Item = (&'static str, &'static str)> {
    GROUPS.into_iter().flat_map(|group| DEVICES.map(|device| (group, device)))
}

/// Returns orders of a device, as NDJSON.
pub(super) fn orders(device: &str, numbers: std::ops::Range<usize>) -> String {
    let line = |number| {
        OrderLine::new(format!("{device}-{number}"), device, "2026-03-01 08:00:00").to_string()
    };
    numbers.map(line).collect()
}

/// Opens the account of a server.
fn account(server: &TestServer, pace: Pace) -> Account {
    Account::open(profile(server, "secret").pace(pace)).unwrap()
}

pub(super) fn profile(server: &TestServer, password: &str) -> Profile {
    let base = format!("https://{}/v8", server.address);
    let profile = Profile::new(&base, "ops", password).unwrap();
    profile.ca_file(&server.certificate_file()).unwrap()
}

/// Returns how often this event is in the audit trail.
pub(super) async fn trail(server: &TestServer, event: &str) -> usize {
    server.flush_refused_logins().await;
    let query = AuditQuery { event: event.parse().ok(), ..AuditQuery::latest(100_000) };
    let entries = server.store.trail().entries(query).await.unwrap().entries;
    entries.iter().map(|entry| usize::try_from(entry.count).unwrap()).sum()
}
