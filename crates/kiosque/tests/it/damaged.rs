//! A database file with damaged pages: what a backup, a server and the operator see of it.

use std::fs;
use std::os::unix::fs::FileExt;

use kiosque_testkit::{ORDERS_PATH, Sandbox, wait_until};

use crate::KIOSQUE;
use crate::fleet::{fleet, orders};
use crate::shell;

const PAGE_BYTES: usize = 4096;

/// Data with orders of two devices, whose pages are apart from each other.
fn with_orders() -> Sandbox {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    for device in ["D1", "D2"] {
        let orders = orders(&format!("{device}-"), 0..400);
        let orders = orders.replace("\"D1\"", &format!("\"{device}\""));
        sandbox.import(orders);
    }
    sandbox
}

/// Writes garbage into the header of the page that has an order's record. A page of an index has
/// the ids of many more orders.
fn damage(sandbox: &Sandbox, order: &str) {
    let path = sandbox.data().join("kiosque.db");
    let content = fs::read(&path).unwrap();
    let count = |page: &[u8], text: &str| {
        page.windows(text.len()).filter(|part| *part == text.as_bytes()).count()
    };
    let (device, _) = order.split_once('-').unwrap();
    let is_wanted = |page: &[u8]| {
        let of_device = count(page, &format!("{device}-"));
        count(page, order) > 0 && (10..80).contains(&of_device)
    };
    let mut pages = content.chunks(PAGE_BYTES);
    let at = pages.position(is_wanted).expect("a page with the order");
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[0xa5; 64], (at * PAGE_BYTES) as u64).unwrap();
}

/// A backup is checked before older ones are removed, and a server learns of the damage that it
/// finds, until a backup is good again. What a crash left is removed nevertheless, for its space.
#[test]
fn a_damaged_database_is_not_backed_up() {
    let sandbox = with_orders();
    fs::create_dir(sandbox.path("backups")).unwrap();
    let back_up = || sandbox.run(&["backup", "backups", "--keep", "2"]);
    for _ in 0..3 {
        back_up().success();
    }
    let kept = sandbox.names("backups");
    assert_eq!(kept.len(), 2);
    let whole = fs::read(sandbox.data().join("kiosque.db")).unwrap();
    damage(&sandbox, "D2-250");
    let served = sandbox.serve();
    assert_eq!(shell::get(&served, "/readyz"), (200, "ready\n".to_owned()));
    for _ in 0..3 {
        let remains = sandbox.path("backups").join("kiosque-20010101T000000.000Z.db.partial");
        fs::write(remains, "part").unwrap();
        let ran = back_up().failure();
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains("kiosque: the database is damaged ("), "{}", ran.stderr);
        assert!(ran.stderr.contains("; no file was made, and no older backup was removed; run "));
        assert_eq!(sandbox.names("backups"), kept);
    }
    let (status, body) = shell::get(&served, "/readyz");
    assert_eq!(status, 503, "{body}");
    let remedy =
        format!("restore a backup with `kiosque restore FILE --data {}`", sandbox.data().display());
    assert!(body.contains("kiosque.db is damaged (") && body.contains(&remedy), "{body}");
    assert!(served.stderr_until("not answered").contains(&remedy));
    // The damage is known to the next server as well.
    drop(served);
    let served = sandbox.serve();
    assert_eq!(shell::get(&served, "/readyz").0, 503);
    drop(served);
    let ran = sandbox.run(&["status"]).success();
    assert!(ran.stderr.contains(&remedy), "{}", ran.stderr);

    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(sandbox.data().join(format!("kiosque.db{end}")));
    }
    fs::write(sandbox.data().join("kiosque.db"), whole).unwrap();
    back_up().success();
    let served = sandbox.serve();
    assert_eq!(shell::get(&served, "/readyz"), (200, "ready\n".to_owned()));
}

/// Orders on other pages are answered. The server is not ready from the first error on.
#[test]
fn a_server_that_reads_a_damaged_page_is_not_ready() {
    let sandbox = with_orders();
    damage(&sandbox, "D2-250");
    let served = sandbox.serve();
    let token = served.connect().log_in("walker", "secret");
    let page = |device: &str, page: usize| {
        let path = format!("{ORDERS_PATH}?size=10&current={page}");
        let body = format!(r#"{{"deviceCode":"{device}"}}"#);
        served.connect().call(&path, Some(&token), &body).code()
    };
    assert_eq!([page("D1", 1), page("D2", 1)], [200, 200]);
    assert_eq!(shell::get(&served, "/readyz"), (200, "ready\n".to_owned()));
    assert_eq!(page("D2", 15), 500);
    wait_until("it is noticed", || shell::get(&served, "/readyz").0 == 503);
    let (_, body) = shell::get(&served, "/readyz");
    assert!(body.contains("is damaged (the store failed: database disk image is malformed)"));
    let said = served.stderr_until("requests with a session are not answered");
    assert!(said.contains("restore a backup with `kiosque restore FILE --data "), "{said}");
    // Readers of other pages are still answered.
    assert_eq!([page("D1", 1), page("D2", 1)], [200, 200]);
    assert_eq!(shell::get(&served, "/readyz").0, 503);
    let (status, body) = shell::get(&served, "/readyz/orders");
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("orders cannot be stored: ") && body.contains("is damaged ("), "{body}");
}
