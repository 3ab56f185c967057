//! A database without data is refused and stays empty, and nodes may share the directory of their
//! certificate.

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::SERVE;

use super::{fleet, node};

#[test]
fn nodes_share_a_directory_and_refuse_a_database_without_data() {
    let server = Server::start(Durability::Full).unwrap();
    let node = node(&[&server]);
    let shown = format!("the database kiosque on 127.0.0.1:{}", server.port());
    for args in [&SERVE[..], &["verify"], &["operator-key", "create", "tills"]] {
        let said = node.run(args).failure().stderr;
        assert!(said.starts_with(&format!("kiosque: {shown}: has no data; check")), "{said}");
        assert!(!node.data().exists(), "{args:?}");
    }
    let ran = node.run(&["init", "--timezone", "Europe/Paris"]).success();
    assert_eq!(ran.stdout, format!("created data in {shown}, time zone Europe/Paris\n"));
    node.apply(fleet());

    // At once, so that they generate one certificate between them.
    let mut nodes = [(); 3].map(|()| node.spawn(&SERVE));
    for served in &mut nodes {
        served.wait_for_address();
        served.connect().log_in("guest", "secret");
        let said = served.stderr();
        assert!(said.contains(&format!("data in {shown}, time zone Europe/Paris; ")), "{said}");
    }
}
