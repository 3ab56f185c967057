//! `kiosque archive` on PostgreSQL that is killed between its transactions.

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::{sql, wait_until};

use super::node;
use crate::kill_9::archive::{by_archived, store_orders};

/// More than one transaction moves.
const DEVICES: usize = 500;
/// The device at whose boundary the process is killed: neither in the first transaction nor in the
/// last.
const HELD_DEVICE: usize = 300;

/// ORD-5, ORD-22: forward, to two archived orders of each device, and back to one. The transactions
/// before the kill are kept, its own leaves every boundary, and the same command moves the others.
#[test]
fn archiving_that_is_killed_leaves_each_boundary_old_or_new() {
    let server = Server::start(Durability::Full).unwrap();
    let node = node(&[&server]);
    let codes: Vec<String> = (0..DEVICES).map(|device| format!("D{device:03}")).collect();
    store_orders(&node, &codes);
    let forward: &[&str] = &["archive", "--before", "2026-01-03"];
    let back: &[&str] = &["archive", "--before", "2026-01-02", "--yes"];
    for (args, old, new) in [(forward, 0, 2), (back, 2, 1)] {
        assert_eq!(by_archived(&node)[old], DEVICES);
        let moves = format!(
            "update of archived_seq on ledger for each row when (new.device_code = '{}')",
            codes[HELD_DEVICE]
        );
        server.sql(&sql("hold_first").replace("CHANGE", &moves)).unwrap();
        let mut archive = node.spawn(args);
        wait_until("the database holds a boundary", || server.sql(&sql("held")).unwrap() == "1");
        archive.kill_9();
        server.sql(&sql("end_held")).unwrap();
        wait_until("its session ends", || server.sql(&sql("held")).unwrap() == "0");
        server.sql(&sql("hold_no_more")).unwrap();
        node.verified();

        let left = by_archived(&node);
        assert_eq!((left[new], left[old]), (200, DEVICES - 200), "{left:?}");
        node.run(args).success();
        assert_eq!(by_archived(&node)[new], DEVICES);
        node.verified();
    }
}
