//! Pictures of the console with the data of a demo at a fixed time, for `docs/console.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiosque_testkit::{
    Chromium, Key, ORDERS_CALL, OrderLine, Served, ServerOptions, TestData, TestServer, Window, sql,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{COLOURS, WIDTHS};
use crate::KIOSQUE;
use crate::demo::FREE_PORTS;

/// The variable with the directory to which `cargo xtask pictures` writes them.
const DIRECTORY: &str = "KIOSQUE_PICTURES";
const MAX_BYTES: usize = 150_000;

/// The last day of the demo's orders, and a time in it.
const DAY: &str = "2026-03-31";
const NOW: &str = "2026-03-31T23:40:00Z";
/// The kiosks that send no heartbeat: the one that the demo cannot reach, and a few more.
const SILENT: [&str; 4] = ["HBR-003", "HBR-011", "LKS-009", "MTP-004"];
/// The prefix of the kiosks of a group that is closed.
const CLOSED: &str = "AIR";

const PHONE: u32 = WIDTHS[0];
const WIDE: u32 = WIDTHS[1];
const LIGHT: &str = COLOURS[0];
const DARK: &str = COLOURS[1];

/// The pictures: name, page, width, height and theme.
const PICTURES: [(&str, &str, u32, u32, &str); 10] = [
    ("overview", "/console/", WIDE, 960, LIGHT),
    ("overview-dark", "/console/?group=harbor-offices", WIDE, 960, DARK),
    ("overview-phone", "/console/", PHONE, 844, LIGHT),
    ("device", "/console/devices/HBR-001", WIDE, 1_060, LIGHT),
    ("device-phone", "/console/devices/HBR-001", PHONE, 844, DARK),
    ("devices", "/console/devices?group=tokyo-stations", WIDE, 760, LIGHT),
    ("orders", "/console/orders?device=HBR-001", WIDE, 760, LIGHT),
    ("intake", "/console/intake", WIDE, 760, LIGHT),
    ("service", "/console/service", WIDE, 760, DARK),
    ("call", "/console/api/integrator/queryOrderList", WIDE, 960, LIGHT),
];

/// A demo in the test's process, whose clock shows [`NOW`].
struct Still {
    runtime: Runtime,
    server: TestServer,
    key: String,
}

impl Still {
    fn new() -> Still {
        let directory = TempDir::new().unwrap();
        let mut demo = KIOSQUE.command();
        demo.args(FREE_PORTS)
            .args(["--quiet", "--timezone", "UTC", "--today", DAY])
            .arg("--data")
            .arg(directory.path());
        drop(Served::start(&mut demo, &directory.path().join("tls/cert.pem")));
        let runtime = Runtime::new().unwrap();
        let data = TestData::Directory(Arc::new(directory));
        let options = ServerOptions { data, ..ServerOptions::default() };
        let server = runtime.block_on(TestServer::open(options));
        let key = runtime
            .block_on(server.create_key_named("office", "orders,activity,fleet,audit,read,keys"));
        let tills = runtime.block_on(server.create_key_named("tills", "orders"));
        let still = Still { runtime, server, key };
        still.sell(&tills);
        still.server.set_clock(NOW);
        still.send_heartbeats();
        still
    }

    /// Sends the orders of a few minutes before [`NOW`], some of which are invalid.
    fn sell(&self, key: &str) {
        for minute in 26..40 {
            let (start, now) = (format!("{DAY} 23:{minute}:05"), format!("{DAY}T23:{minute}:12Z"));
            let order = |number: u32| {
                let device = format!("HBR-{:03}", if number > 7 { 99 } else { number + 1 });
                OrderLine::new(format!("{minute}-{number}"), device, &start).paid(&start)
            };
            let orders = (0..minute * 7 % 10).map(|number| order(number).amount("USD", 325));
            let lines: String = orders.map(|order| order.to_string()).collect();
            self.server.set_clock(&now);
            let call = self.server.call_operator(ORDERS_CALL, Some(key), lines);
            assert_eq!(self.runtime.block_on(call).status, 200);
        }
    }

    fn send_heartbeats(&self) {
        let codes = self.server.data.query(&sql("device_codes"));
        let is_silent = |code: &String| code.starts_with(CLOSED) || SILENT.contains(&code.as_str());
        let codes = codes.into_iter().filter(|code| !is_silent(code));
        let beats: String =
            codes.map(|code| format!("{}\n", json!({"deviceCode": code}))).collect();
        let call = self.server.call_operator("/operator/v1/activity", Some(&self.key), beats);
        assert_eq!(self.runtime.block_on(call).status, 200);
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.server.operator)
    }
}

/// Each picture has less than 150 KB. They are written only if [`DIRECTORY`] is set.
#[test]
fn pictures_of_the_console_are_small() {
    let mut browser = Chromium::start();
    let still = Still::new();
    browser.open(&still.url("/console/login"));
    browser.run("document.querySelector('[name=key]').focus()");
    browser.type_text(&still.key);
    browser.press(Key::Enter);
    browser.wait_for("return location.pathname === '/console/'");
    let directory = std::env::var_os(DIRECTORY).map(PathBuf::from);
    for (name, path, width, height, colours) in PICTURES {
        browser.show_as(Window { width, height, scale: 1 }, colours);
        browser.open(&still.url(path));
        let picture = browser.picture();
        assert!(picture.len() < MAX_BYTES, "{name}: {} bytes", picture.len());
        if let Some(directory) = &directory {
            write(directory, name, &picture);
        }
    }
}

fn write(directory: &Path, name: &str, picture: &[u8]) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join(name).with_extension("webp"), picture).unwrap();
}
