//! Traffic to a database is encrypted when it is configured so, and never goes to a server other
//! than the configured one.

use kiosque_testdb::Server;

use super::{Node, fleet};
use crate::KIOSQUE;

#[test]
fn a_server_that_takes_encrypted_connections_alone_is_known_by_its_certificate() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    drop(sandbox.serve());
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| sandbox.data().join("tls").join(name));
    let text = |path| std::fs::read_to_string(path).unwrap();
    let server = Server::start_with_tls(&text(&cert), &text(&key)).unwrap();
    let file = sandbox.file("fleet.toml", fleet());
    let with = |options: &str| {
        let mut node = Node::on(&[&server]);
        node.store.push_str(options);
        node.run(&["apply", &file])
    };
    with(&format!("?sslmode=require&sslrootcert={}", cert.display())).success();
    // The certificate of another server is not this server's.
    let other = KIOSQUE.sandbox_with(fleet(), "UTC");
    drop(other.serve());
    let stranger = other.data().join("tls/cert.pem");
    let refused = with(&format!("?sslmode=require&sslrootcert={}", stranger.display())).failure();
    assert!(refused.stderr.contains("certificate"), "{}", refused.stderr);
    let refused = with("?sslmode=require").failure();
    assert!(refused.stderr.contains("sslrootcert=FILE"), "{}", refused.stderr);
    // Without encryption the server itself refuses.
    let refused = with("").failure();
    assert!(refused.stderr.contains("no encryption"), "{}", refused.stderr);
}
