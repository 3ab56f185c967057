//! `kiosque fault-proxy` and `kiosque demo --fault`: each fault gives exactly its answer, over TLS.

mod answers;
mod demo;
mod pages;
mod program;
mod seeds;
mod sessions;

use std::path::Path;

use kiosque_testkit::blocking::Client;
use kiosque_testkit::{FleetToml, ORDERS_PATH, OrderLine, Reply, Sandbox, Served};
use serde_json::Value;

use crate::KIOSQUE;
use crate::fleet::fleet;

/// Starts a proxy with faults before a server, which shows the certificate of the server.
pub(crate) fn proxy(base: &str, certificate: &Path, faults: &[&str]) -> Served {
    let mut command = KIOSQUE.command();
    command.args(["fault-proxy", base, "--listen", "127.0.0.1:0", "--ca-file"]).arg(certificate);
    command.arg("--tls-cert").arg(certificate);
    command.arg("--tls-key").arg(certificate.with_file_name("key.pem"));
    command.args(faults.iter().flat_map(|fault| ["--fault", fault]));
    Served::start(&mut command, certificate)
}

/// Orders of the device `D1`, with ids from `o01` on; the newest is first in its list.
const ORDERS: usize = 25;
const ONE_DEVICE: &str = r#"{"deviceCode":"D1"}"#;

/// A server with orders, and the sandbox of its data.
struct Server {
    sandbox: Sandbox,
    served: Served,
}

impl Server {
    fn start() -> Server {
        Server::with(fleet())
    }

    /// Starts a server with this fleet, which contains the fleet of the other tests.
    fn with(fleet: FleetToml) -> Server {
        Server::with_orders(fleet, ORDERS)
    }

    fn with_orders(fleet: FleetToml, orders: usize) -> Server {
        let sandbox = KIOSQUE.sandbox_with(fleet, "UTC");
        let line = |number| {
            let (minute, second) = (4 + number / 60, number % 60);
            let start = format!("2026-01-02 03:{minute:02}:{second:02}");
            OrderLine::new(format!("o{number:02}"), "D1", start).to_string()
        };
        sandbox.import((1..=orders).map(line).collect::<String>());
        let served = sandbox.serve();
        Server { sandbox, served }
    }

    /// Starts a proxy with these faults before the server, which generates its certificate.
    fn proxy(&self, faults: &[&str]) -> Served {
        self.proxy_with(faults, &[])
    }

    fn proxy_with(&self, faults: &[&str], more: &[&str]) -> Served {
        let trusted = self.sandbox.certificate();
        let mut command = KIOSQUE.command();
        command.args(["fault-proxy", &self.served.base, "--listen", "127.0.0.1:0", "--ca-file"]);
        command.arg(&trusted).args(faults.iter().flat_map(|fault| ["--fault", fault])).args(more);
        let mut served = Served::start(&mut command, &trusted);
        let name = format!("{}.pem", served.address().port());
        let certificate = served.stdout_until("-----END CERTIFICATE-----");
        served.trust(self.sandbox.file(&name, certificate).as_ref());
        served
    }
}

/// Returns the faults that an answer names.
fn faults_of(reply: &Reply) -> Option<&str> {
    reply.headers.get("kiosque-fault").map(String::as_str)
}

/// Returns the ids of a page of five orders.
fn page(caller: &mut Client, token: &str, current: usize) -> (Reply, Vec<String>) {
    let path = format!("{ORDERS_PATH}?current={current}&size=5");
    let reply = caller.call(&path, Some(token), ONE_DEVICE);
    let records = reply.success()["records"].as_array().unwrap();
    let id = |record: &Value| record["orderId"].as_str().unwrap().to_owned();
    (reply.clone(), records.iter().map(id).collect())
}
