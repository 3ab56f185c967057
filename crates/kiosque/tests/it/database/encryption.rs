//! Traffic to a database is encrypted when it is configured so, and never goes to a server other
//! than the configured one.

use kiosque_testdb::Server;

use super::{address, fleet};
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
        KIOSQUE.sandbox().on(&(address(&[&server]) + options)).run(&["apply", &file])
    };
    with(&format!("?sslmode=require&sslrootcert={}", cert.display())).success();
    // The certificate of another server is not this server's.
    let other = KIOSQUE.sandbox_with(fleet(), "UTC");
    drop(other.serve());
    let stranger = other.certificate();
    let refused = with(&format!("?sslmode=require&sslrootcert={}", stranger.display())).failure();
    let host = format!("127.0.0.1:{}", server.port());
    let (said, remedy) = (
        format!("{host}: the server's certificate cannot be verified (invalid peer certificate: "),
        "the file of sslrootcert must have the root certificate of the server, and its certificate \
         the host of the address\n",
    );
    assert!(refused.stderr.contains(&said), "{}", refused.stderr);
    assert!(refused.stderr.ends_with(remedy), "{}", refused.stderr);
    for mode in ["sslmode=require", "sslmode=verify-full"] {
        let refused = with(&format!("?{mode}")).failure();
        let needs =
            format!("{mode} needs sslrootcert=FILE, the root certificates for the server's");
        assert_eq!(refused.stderr, format!("kiosque: --store: {needs}\n"));
    }
    // Without encryption the server itself refuses.
    let refused = with("").failure();
    let said =
        format!("kiosque: --store: {host}: role kiosque has no access to database kiosque: ");
    assert!(refused.stderr.starts_with(&said), "{}", refused.stderr);
    assert!(refused.stderr.contains("no encryption (28000); "), "{}", refused.stderr);
}
