//! What travels to a database is encrypted when it is to be, and never to a server that is not the
//! one that was meant.

use kiosque_testdb::Server;

use super::{FLEET, Node};
use crate::program::Sandbox;

#[test]
fn a_server_that_takes_encrypted_connections_alone_is_known_by_its_certificate() {
    let sandbox = Sandbox::with(FLEET, "UTC");
    drop(sandbox.serve());
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| sandbox.data().join("tls").join(name));
    let text = |path| std::fs::read_to_string(path).unwrap();
    let server = Server::start_with_tls(&text(&cert), &text(&key)).unwrap();
    let fleet = sandbox.file("fleet.toml", FLEET);
    let with = |options: &str| {
        let mut node = Node::on(&[&server]);
        node.store.push_str(options);
        node.run(&["apply", &fleet])
    };
    with(&format!("?sslmode=require&sslrootcert={}", cert.display())).good();
    // Another house's certificate is not this server's.
    let other = Sandbox::with(FLEET, "UTC");
    drop(other.serve());
    let stranger = other.data().join("tls/cert.pem");
    let refused = with(&format!("?sslmode=require&sslrootcert={}", stranger.display())).bad();
    assert!(refused.stderr.contains("certificate"), "{}", refused.stderr);
    let refused = with("?sslmode=require").bad();
    assert!(refused.stderr.contains("sslrootcert=FILE"), "{}", refused.stderr);
    // In the clear, the server itself refuses.
    let refused = with("").bad();
    assert!(refused.stderr.contains("no encryption"), "{}", refused.stderr);
}
