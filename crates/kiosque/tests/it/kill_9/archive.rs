//! `kiosque archive` that is killed between its transactions.

use kiosque_testkit::{FleetToml, OrderLine, Sandbox};

use super::{When, copy_data, run_and_kill};
use crate::KIOSQUE;

/// More than one transaction moves.
const DEVICES: usize = 1_000;
/// The orders of each device, one a day.
const DAYS: usize = 3;
/// Sizes in blocks of 512 bytes: the log passes all but the last while boundaries are moved.
const LOG_BLOCKS: [i64; 4] = [70, 150, 230, 400];

/// Stores three orders of each of these devices, one a day from 2026-01-01.
pub(crate) fn store_orders(sandbox: &Sandbox, codes: &[String]) {
    let fleet = FleetToml::new().group("g", "Group").account("walker", &["g"]);
    let fleet = codes.iter().fold(fleet, |fleet, code| fleet.device(code, "Device", "g"));
    let fleet = sandbox.file("fleet.toml", fleet);
    sandbox.run(&["apply", &fleet, "--timezone", "UTC"]).success();
    let places = codes.iter().flat_map(|code| (1..=DAYS).map(move |day| (code, day)));
    let order = |(code, day)| {
        let start = format!("2026-01-0{day} 12:00:00");
        OrderLine::new(format!("{code}-{day}"), code, start).amount("USD", 5).to_string()
    };
    sandbox.import(places.map(order).collect::<String>());
}

/// Returns the numbers of devices by the number of their archived orders.
pub(crate) fn by_archived(sandbox: &Sandbox) -> [usize; DAYS + 1] {
    let mut devices = [0; DAYS + 1];
    for device in sandbox.json(&["device", "list"]).as_array().unwrap() {
        devices[usize::try_from(device["archivedCount"].as_u64().unwrap()).unwrap()] += 1;
    }
    devices
}

/// Kills a command that moves the boundaries of all devices. Each is where it was or where it goes,
/// and the same command moves the others. Returns whether some, and not all, were moved.
fn kill_and_repeat(sandbox: &Sandbox, args: &[&str], (old, new): (usize, usize), at: i64) -> bool {
    assert_eq!(by_archived(sandbox)[old], DEVICES);
    assert!(run_and_kill(sandbox, args, When::Grown(at)), "{args:?} ended by itself");
    sandbox.verified();
    let left = by_archived(sandbox);
    assert_eq!(left[old] + left[new], DEVICES, "{left:?}");
    sandbox.run(args).success();
    assert_eq!(by_archived(sandbox)[new], DEVICES, "{left:?}");
    sandbox.verified();
    0 < left[new] && left[new] < DEVICES
}

/// ORD-5, ORD-22: forward, to two archived orders of each device, and back to one.
#[test]
fn kill_9_of_archiving_leaves_each_boundary_old_or_new() {
    let fresh = KIOSQUE.sandbox();
    // The rows of long codes fill the log soon.
    let codes: Vec<String> = (0..DEVICES).map(|device| format!("{device:060}")).collect();
    store_orders(&fresh, &codes);
    let forward = ["archive", "--before", "2026-01-03"];
    let back = ["archive", "--before", "2026-01-02", "--yes"];
    let amid = LOG_BLOCKS.map(|blocks| {
        let sandbox = KIOSQUE.sandbox();
        copy_data(&fresh.data(), &sandbox.data());
        let forward = kill_and_repeat(&sandbox, &forward, (0, 2), blocks);
        [forward, kill_and_repeat(&sandbox, &back, (2, 1), blocks)]
    });
    for direction in 0..2 {
        assert!(amid.iter().any(|amid| amid[direction]), "{amid:?}");
    }
}
