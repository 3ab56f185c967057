//! A certificate that changes under a running server: open connections continue, new ones see the
//! new certificate, and a certificate that cannot be used changes nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use kiosque_clock::Clock;
use kiosque_https_client::{HttpsClient, trust_pem};
use kiosque_model::UnixMs;
use kiosque_server::self_signed;
use kiosque_testkit::{DEVICES_PATH, Reply, START_MS, TestServer, WAIT_MAX, post};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, HandshakeKind, RootCertStore, SupportedProtocolVersion};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsConnector;

use crate::catalog;

/// So rare that the files are read only on request.
const NEVER: Duration = Duration::from_secs(3_600);
const OFTEN: Duration = Duration::from_millis(2);

/// A certificate and its key, as in their files.
struct Pair {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl Pair {
    /// Makes another pair for the same names.
    fn new() -> Pair {
        let directory = TempDir::new().unwrap();
        self_signed(directory.path(), UnixMs(START_MS)).unwrap();
        Pair::of(directory.path())
    }

    fn of(directory: &Path) -> Pair {
        let read = |name: &str| std::fs::read(directory.join(name)).unwrap();
        Pair { cert: read("tls/cert.pem"), key: read("tls/key.pem") }
    }

    fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(&self.cert).unwrap()
    }

    /// Replaces both files, each as a whole.
    fn put(&self, server: &TestServer) {
        put(server, "tls/key.pem", &self.key);
        put(server, "tls/cert.pem", &self.cert);
    }
}

fn put(server: &TestServer, name: &str, bytes: &[u8]) {
    let directory = server.directory.path();
    std::fs::write(directory.join("moving"), bytes).unwrap();
    std::fs::rename(directory.join("moving"), directory.join(name)).unwrap();
}

/// Watches the server's certificate for as long as the test runs.
fn follow(server: &TestServer, every: Duration) -> Arc<Notify> {
    let (certificate, asked) = (Arc::clone(&server.certificate), Arc::new(Notify::new()));
    let asks = Arc::clone(&asked);
    tokio::spawn(async move { certificate.follow(every, &asks, &Clock::System).await });
    asked
}

/// Returns a client that trusts these certificates and stores tickets to resume a session.
fn client(pairs: &[&Pair], version: &'static SupportedProtocolVersion) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    pairs.iter().for_each(|pair| roots.add(pair.der()).unwrap());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[version]).unwrap();
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Makes a handshake and a call, after which the client can resume.
async fn greet(
    server: &TestServer,
    client: &Arc<ClientConfig>,
) -> (HandshakeKind, CertificateDer<'static>) {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::clone(client)).connect(name, stream).await.unwrap();
    let session = stream.get_ref().1;
    let kind = session.handshake_kind().unwrap();
    let shown = session.peer_certificates().unwrap()[0].clone().into_owned();
    let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let request = post("/v8/nowhere").body(Full::<Bytes>::default()).unwrap();
    let reply = Reply::of(sender.send_request(request).await.unwrap()).await;
    assert_eq!(reply.code(), 0);
    (kind, shown)
}

/// Waits until a new connection sees the second of two certificates.
async fn turned(server: &TestServer, [old, new]: [&Pair; 2]) {
    let begun = Instant::now();
    loop {
        let shown = greet(server, &client(&[old, new], &TLS13)).await.1;
        if shown == new.der() {
            return;
        }
        assert_eq!(shown, old.der());
        assert!(begun.elapsed() < WAIT_MAX, "the new certificate is not shown");
    }
}

#[tokio::test]
async fn only_new_connections_use_the_new_certificate() {
    let server = catalog::open().await;
    let token = server.log_in("ops").await.token;
    let old = Pair::of(server.directory.path());
    let mut open = server.connect().await;
    follow(&server, OFTEN);
    let mut last = old;
    // Twice, so that watching continues after the first change.
    for _ in 0..2 {
        let new = Pair::new();
        new.put(&server);
        turned(&server, [&last, &new]).await;
        assert_eq!(open.call(DEVICES_PATH, Some(&token), "{}").await.code(), 200);
        last = new;
    }
}

/// A certificate that `openssl req -x509` makes by default is one of a CA, which no client accepts:
/// ours says so, and how to make another.
#[tokio::test]
async fn a_certificate_of_a_ca_is_named_as_the_cause() {
    let server = catalog::open().await;
    let asked = follow(&server, NEVER);
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let cert = params.self_signed(&key).unwrap().pem();
    Pair { cert: cert.clone().into(), key: key.serialize_pem().into() }.put(&server);
    read_again(&asked).await;
    let base = format!("https://{}/v8", server.address);
    let client = HttpsClient::new(base.parse().unwrap(), trust_pem(&cert).unwrap()).unwrap();
    let request = post("/v8/nowhere").body(Bytes::new()).unwrap();
    let error = client.exchange(request).await.unwrap_err().to_string();
    let expected = format!(
        "cannot connect to {base}: TLS: the server's certificate is one of a CA; a server needs \
         one with CA:FALSE, which `openssl req -x509` makes with \
         `-addext basicConstraints=critical,CA:FALSE`"
    );
    assert_eq!(error, expected);
}

/// A pair that does not match or cannot be read leaves the old one in use, and is read again when
/// it changes.
#[tokio::test]
async fn a_certificate_that_cannot_be_used_leaves_the_old_one() {
    let server = catalog::open().await;
    let (old, new) = (Pair::of(server.directory.path()), Pair::new());
    let asked = follow(&server, NEVER);
    let half = &new.cert[..new.cert.len() / 2];
    for (cert, key) in [(&b"garbage"[..], &old.key), (half, &new.key), (&new.cert, &old.key)] {
        put(&server, "tls/cert.pem", cert);
        put(&server, "tls/key.pem", key);
        read_again(&asked).await;
        assert_eq!(greet(&server, &client(&[&old, &new], &TLS13)).await.1, old.der());
    }
    std::fs::remove_file(server.directory.path().join("tls/key.pem")).unwrap();
    read_again(&asked).await;
    assert_eq!(greet(&server, &client(&[&old, &new], &TLS13)).await.1, old.der());
    new.put(&server);
    assert_eq!(
        greet(&server, &client(&[&old, &new], &TLS13)).await.1,
        old.der(),
        "the files were not checked yet"
    );
    read_again(&asked).await;
    assert_eq!(greet(&server, &client(&[&old, &new], &TLS13)).await.1, new.der());
}

/// Requests a reading, and waits until it has ended: the test has one thread, which it yields.
async fn read_again(asked: &Notify) {
    asked.notify_one();
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
}

/// A session that began under the old certificate is not resumed under the new one, so that its
/// client verifies the new one.
#[tokio::test]
async fn a_session_is_resumed_only_under_the_certificate_that_began_it() {
    for version in [&TLS12, &TLS13] {
        let server = catalog::open().await;
        let (old, new) = (Pair::of(server.directory.path()), Pair::new());
        let asked = follow(&server, NEVER);
        let client = client(&[&old, &new], version);
        assert_eq!(greet(&server, &client).await, (HandshakeKind::Full, old.der()));
        assert_eq!(greet(&server, &client).await, (HandshakeKind::Resumed, old.der()));
        new.put(&server);
        read_again(&asked).await;
        assert_eq!(greet(&server, &client).await, (HandshakeKind::Full, new.der()));
        assert_eq!(greet(&server, &client).await, (HandshakeKind::Resumed, new.der()));
    }
}
