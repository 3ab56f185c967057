//! A database without data is refused and stays empty, and nodes may share the directory of their
//! certificate.

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::{Ran, SERVE};

use super::{Node, fleet};

#[test]
fn nodes_share_a_directory_and_refuse_a_database_without_data() {
    let server = Server::start(Durability::Full).unwrap();
    let node = Node::on(&[&server]);
    let run = |args: &[&str]| {
        let mut command = node.sandbox.command(args);
        Ran::of(command.args(["--store", &node.store]))
    };
    let shown = format!("the database kiosque on 127.0.0.1:{}", server.port());
    for args in [&SERVE[..], &["verify"], &["operator-key", "create", "tills"]] {
        let said = run(args).failure().stderr;
        assert!(said.starts_with(&format!("kiosque: {shown}: has no data; check")), "{said}");
        assert!(!node.sandbox.data().exists(), "{args:?}");
    }
    let ran = run(&["init", "--timezone", "Europe/Paris"]).success();
    assert_eq!(ran.stdout, format!("created data in {shown}, time zone Europe/Paris\n"));
    let file = node.sandbox.file("fleet.toml", fleet());
    run(&["apply", &file]).success();

    // At once, so that they generate one certificate between them.
    let mut nodes = [(); 3].map(|()| node.spawn());
    for served in &mut nodes {
        served.wait_for_address();
        served.connect().log_in("guest", "secret");
        let said = served.stderr();
        assert!(said.contains(&format!("data in {shown}, time zone Europe/Paris; ")), "{said}");
    }
}
