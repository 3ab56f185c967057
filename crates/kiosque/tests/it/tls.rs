//! The generated certificate and a configured one (ADDR-5); `server/tests/it/abuse/tls.rs` has
//! plain HTTP.

use std::process::Command;
use std::time::Duration;

use kiosque_testkit::{Ran, SERVE, Served, TOKEN_PATH, wait_until};

use crate::KIOSQUE;
use crate::fleet::fleet;

/// A certificate of X.509 version 1, as `openssl x509 -req` makes it without extensions.
const VERSION_1: &str = "-----BEGIN CERTIFICATE-----
MIIBJDCBywIUKsPwugG7zLN53tpUnPUJEKfYLu4wCgYIKoZIzj0EAwIwFDESMBAG
A1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNjExNTAyNloYDzIxMjYxMTAyMTE1MDI2
WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC
AAT97uM4CSiiQjaW67x19QyweFC6ycolvNw09rsAEP0SZNCs1dxqyQAgkBH0WfuF
13HZWR9zYAVAIRq8ymfUuUJpMAoGCCqGSM49BAMCA0gAMEUCIDnfRSgfZRJXuVu/
xM3kwsg+EPx7FiKk87LG+1e+xMsEAiEAz1sOIW6r/vkQorm2nFvWRUHOVeE/7UAk
r7QLUAhwYwM=
-----END CERTIFICATE-----
";

/// A key of Ed448, which the TLS library does not support.
const ED448_KEY: &str = "-----BEGIN PRIVATE KEY-----
MEcCAQAwBQYDK2VxBDsEOa1w8HF0eGk2/dIxkP2GwH4UaK54sQj3AV6slXge7h71
igB6uTW+TzOTV2ICrNZ9U0hFX36KQV1GmA==
-----END PRIVATE KEY-----
";

#[test]
fn a_certificate_is_generated_once_and_curl_accepts_it() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let served = sandbox.serve();
    let cert = sandbox.certificate();
    let key = sandbox.data().join("tls/key.pem");
    assert_eq!(sandbox.mode(&key), 0o600);
    let login = r#"{"username":"walker","password":"secret"}"#;
    for (host, version) in [("127.0.0.1", "--http1.1"), ("localhost", "--http2")] {
        let url = format!("{}/{TOKEN_PATH}", served.base.replace("127.0.0.1", host));
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail", version, "-d", login, "--cacert"]);
        let answer = Ran::of(curl.arg(&cert).arg(&url)).success().stdout;
        assert!(answer.starts_with(r#"{"code":200,"#), "{answer}");
    }
    drop(served);
    let before = (std::fs::read(&cert).unwrap(), std::fs::read(&key).unwrap());
    sandbox.serve().connect().log_in("walker", "secret");
    assert_eq!((std::fs::read(&cert).unwrap(), std::fs::read(&key).unwrap()), before);
}

#[test]
fn a_certificate_that_is_given_is_the_one_shown() {
    let other = KIOSQUE.sandbox_with(fleet(), "UTC");
    drop(other.serve());
    let cert = other.certificate().to_str().unwrap().to_owned();
    let key = other.data().join("tls/key.pem").to_str().unwrap().to_owned();
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let args = [&SERVE[..], &["--tls-cert", &cert, "--tls-key", &key]].concat();
    let served = Served::start(&mut sandbox.command(&args), cert.as_ref());
    served.connect().log_in("walker", "secret");
    assert!(!sandbox.data().join("tls").exists());
}

#[test]
fn a_certificate_that_cannot_be_used_is_named() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    drop(sandbox.serve());
    let other = KIOSQUE.sandbox_with(fleet(), "UTC");
    drop(other.serve());
    let [cert, key] = ["tls/cert.pem", "tls/key.pem"].map(|name| sandbox.data().join(name));
    let [cert, key] = [&cert, &key].map(|path| path.to_str().unwrap());
    let whole = std::fs::read_to_string(cert).unwrap();
    sandbox.file("empty.pem", "");
    sandbox.file("half.pem", &whole[..whole.len() / 2]);
    sandbox.file("version-1.pem", VERSION_1);
    sandbox.file("ed448.pem", ED448_KEY);
    sandbox.file("encrypted.pem", ED448_KEY.replace("PRIVATE", "ENCRYPTED PRIVATE"));
    let encrypted = "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIGk\n";
    sandbox.file("older.pem", encrypted);
    std::fs::copy(other.data().join("tls/key.pem"), sandbox.path("foreign.pem")).unwrap();
    let with = |cert, key| ["serve", "--tls-cert", cert, "--tls-key", key];
    insta::assert_snapshot!(sandbox.transcript(&[
        &with("empty.pem", key),
        &with(cert, "empty.pem"),
        &with(cert, "foreign.pem"),
        &with("half.pem", key),
        &with("version-1.pem", key),
        &with(cert, "ed448.pem"),
        &with(cert, "encrypted.pem"),
        &with(cert, "older.pem"),
        &with("absent.pem", key),
        &with(cert, "absent.pem"),
        &["serve", "--tls-cert", cert],
    ]));
}

/// A new certificate needs no restart, and is read at once on SIGHUP. One that cannot be used
/// leaves the old one in place with one log line, and is read again when it changes.
#[test]
fn a_certificate_is_read_again_when_it_changes_and_on_hangup() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let other = KIOSQUE.sandbox_with(fleet(), "UTC");
    drop(other.serve());
    let mut served = sandbox.serve();
    let mut open = served.connect();
    open.log_in("walker", "secret");
    served.signal("HUP");
    served.stderr_until("the certificate was reloaded");

    // The opening of a pipe waits for its other end.
    let pipe = sandbox.path("pipe");
    Ran::of(Command::new("mkfifo").arg(&pipe)).success();
    let certificate = sandbox.path("certificate");
    std::fs::rename(sandbox.certificate(), &certificate).unwrap();
    std::fs::rename(pipe, sandbox.certificate()).unwrap();
    served.stderr_until("cert.pem: is not a file");
    open.log_in("walker", "secret");
    std::fs::rename(certificate, sandbox.certificate()).unwrap();
    wait_until("the certificate is read again", || {
        served.stderr().matches("the certificate was reloaded").count() == 2
    });

    let old = std::fs::read(sandbox.certificate()).unwrap();
    // Moved into place: a file that is written there could be read half written.
    let garbage = sandbox.file("moving", "garbage");
    std::fs::rename(garbage, sandbox.certificate()).unwrap();
    wait_until("the garbage is read", || {
        served.stderr().matches("the current one stays in use").count() == 2
    });
    // Usually longer than until the file is looked at again.
    std::thread::sleep(Duration::from_millis(1_500));
    let said = served.stderr();
    assert_eq!(said.matches("the current one stays in use").count(), 2, "{said}");
    served.trust(sandbox.file("old.pem", old).as_ref());
    served.connect().log_in("walker", "secret");

    let renew = |name: &str| {
        let moving = sandbox.path("moving");
        std::fs::copy(other.data().join(name), &moving).unwrap();
        std::fs::rename(&moving, sandbox.data().join(name)).unwrap();
    };
    renew("tls/cert.pem");
    wait_until("the certificate is read with the key of the old one", || {
        served.stderr().matches("the current one stays in use").count() == 3
    });
    served.connect().log_in("walker", "secret");
    renew("tls/key.pem");
    wait_until("the new certificate is read", || {
        served.stderr().matches("the certificate was reloaded").count() == 3
    });
    served.trust(&sandbox.certificate());
    served.connect().log_in("walker", "secret");
    open.log_in("walker", "secret");
}
