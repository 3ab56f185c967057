//! `kiosque-client` with a real server, over TLS.

mod sharing;
mod walking;

use std::sync::Arc;

use kiosque_client::session::Pace;
use kiosque_client::{Account, Profile};
use kiosque_clock::{Clock, Entropy};
use kiosque_store::AuditQuery;
use kiosque_testkit::{FleetToml, OrderLine, TestServer, cheap_hash};

pub(super) const GROUPS: [&str; 3] = ["north", "south", "west"];
const DEVICES: [&str; 2] = ["1", "2"];

/// Returns three groups of two devices, and an account of all groups with this password.
pub(super) fn fleet(password: &str) -> FleetToml {
    let mut fleet = FleetToml::new().product("cola", "Cola", "EUR");
    for group in GROUPS {
        fleet = fleet.group(group, group);
        for device in DEVICES {
            fleet = fleet.device(&format!("{group}-{device}"), "Kiosk", group);
        }
    }
    fleet.account_with_hash("ops", &cheap_hash(password), &GROUPS)
}

/// Starts a server whose devices have some orders.
pub(super) async fn server() -> TestServer {
    let server = TestServer::start(fleet("secret")).await;
    for device in GROUPS.iter().flat_map(|group| DEVICES.map(|device| format!("{group}-{device}")))
    {
        server.import_valid(orders(&device, 0..30)).await;
    }
    server
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

/// Returns the profile with the clock of the server, whose sessions end by it.
pub(super) fn timed_profile(server: &TestServer, password: &str) -> Profile {
    let clock = Clock::Manual(Arc::new(server.now().0.into()));
    profile(server, password).time_and_chance(clock, Entropy::system())
}

/// Returns how often this event is in the audit trail.
pub(super) async fn trail(server: &TestServer, event: &str) -> usize {
    server.flush_refused_logins().await;
    let query = AuditQuery { event: event.parse().ok(), ..AuditQuery::latest(100_000) };
    let entries = server.store.trail().entries(query).await.unwrap().entries;
    entries.iter().map(|entry| usize::try_from(entry.count).unwrap()).sum()
}
