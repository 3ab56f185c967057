//! The limit: a bare server on the same stack that answers any POST with one prepared page. It runs
//! as a separate process, so that its CPU time is measured exactly like Kiosque's.

use std::convert::Infallible;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kiosque_testkit::{Served, wait_until};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::client::Client;
use crate::kiosque::free_address;
use crate::load::Workload;
use crate::options::LimitServer;
use crate::subject::Subject;

/// The files of the limit server in its directory.
const CERT: &str = "limit-cert.pem";
const KEY: &str = "limit-key.pem";
const PAGE: &str = "limit-page.json";

/// The limit server, running.
pub(crate) struct Limit {
    /// Its process.
    process: Served,
    /// Calls it.
    client: Client,
    /// The length of its answer.
    pub(crate) bytes: usize,
}

impl Limit {
    /// The server to be measured.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject { client: &self.client, pid: self.process.process(), engine: None }
    }

    /// Starts the limit server with another server's answer to the first call of a workload.
    ///
    /// # Errors
    /// There is no answer, or it does not start.
    pub(crate) async fn like(
        client: &Client,
        workload: &Workload,
        dir: &Path,
    ) -> anyhow::Result<Limit> {
        let call = workload.first().context("no call")?;
        Limit::start(dir, &client.connect().await?.post(call).await?)
    }

    /// Starts the limit server with `page` as its only answer; its files go to `dir`.
    ///
    /// # Errors
    /// When its files cannot be written.
    pub(crate) fn start(dir: &Path, page: &[u8]) -> anyhow::Result<Limit> {
        let cert = write_certificate(dir)?;
        fs::write(dir.join(PAGE), page)?;
        let address = free_address()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("limit-server").arg(dir).arg(address.to_string()).stdin(Stdio::piped());
        let mut process = Served::spawn(&mut command, &cert);
        wait_until("the limit server listens", || {
            assert!(!process.has_ended(), "the limit server ended: {}", process.stderr());
            std::net::TcpStream::connect(address).is_ok()
        });
        Ok(Limit { process, client: Client::trusting(&cert, address)?, bytes: page.len() })
    }
}

/// Creates a directory with a certificate and its key; returns the path of the certificate.
fn write_certificate(dir: &Path) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(dir)?;
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    fs::write(dir.join(KEY), made.signing_key.serialize_pem())?;
    let cert = dir.join(CERT);
    fs::write(&cert, made.cert.pem())?;
    Ok(cert)
}

/// Runs the limit server until stdin ends.
///
/// # Errors
/// It cannot listen, or its files are invalid.
pub(crate) fn serve(options: &LimitServer) -> anyhow::Result<()> {
    std::thread::spawn(|| {
        // The end of the parent process ends this one.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let acceptor = acceptor(&options.dir)?;
    let page = Bytes::from(fs::read(options.dir.join(PAGE))?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        answer_all(TcpListener::bind(options.listen).await?, &acceptor, &page).await
    })
}

/// Answers everyone with the page, until a connection cannot be accepted.
async fn answer_all(
    listener: TcpListener,
    acceptor: &TlsAcceptor,
    page: &Bytes,
) -> anyhow::Result<()> {
    loop {
        let (tcp, _) = listener.accept().await?;
        let (acceptor, page) = (acceptor.clone(), page.clone());
        tokio::spawn(async move {
            if tcp.set_nodelay(true).is_ok()
                && let Ok(tls) = acceptor.accept(tcp).await
            {
                let service = service_fn(|request| answer(request, page.clone()));
                // A client that disconnects is not an error.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(tls), service).await;
            }
        });
    }
}

fn acceptor(dir: &Path) -> anyhow::Result<TlsAcceptor> {
    let chain = vec![CertificateDer::from_pem_file(dir.join(CERT))?];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(dir.join(KEY))?)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn answer(
    request: Request<Incoming>,
    page: Bytes,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let taken = request.method() == Method::POST && request.into_body().collect().await.is_ok();
    let mut response = Response::new(Full::new(page));
    if !taken {
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    }
    let json = HeaderValue::from_static(kiosque_contract::CONTENT_TYPE);
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::client::Call;
    use crate::load::{self, LoadResult, Pace};

    /// A limit server in this process.
    async fn limit(page: &'static str) -> Client {
        let dir = tempfile::tempdir().unwrap();
        let cert = write_certificate(dir.path()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = acceptor(dir.path()).unwrap();
        tokio::spawn(async move {
            answer_all(listener, &acceptor, &Bytes::from_static(page.as_bytes())).await
        });
        Client::trusting(&cert, address).unwrap()
    }

    fn call() -> Call {
        Call::new("any/path?current=1", Some("token"), &json!({})).unwrap()
    }

    async fn loaded(page: &'static str, pace: Pace) -> LoadResult {
        loaded_for(Duration::from_millis(500), page, pace).await
    }

    async fn loaded_for(span: Duration, page: &'static str, pace: Pace) -> LoadResult {
        let workload = Workload::shared(4, vec![call()]);
        let connections = limit(page).await.connect_all(4).await.unwrap();
        load::run(connections, &workload, span, pace).await.unwrap().1
    }

    const GOOD: &str = r#"{"code":200,"data":"page"}"#;

    #[tokio::test]
    async fn the_limit_answers_with_the_very_page() {
        let mut connection = limit(GOOD).await.connect().await.unwrap();
        for _ in 0..3 {
            assert_eq!(connection.post(&call()).await.unwrap(), GOOD);
        }
    }

    #[tokio::test]
    async fn an_open_loop_keeps_its_rate_and_a_closed_loop_runs_at_full_speed() {
        let steady = loaded(GOOD, Pace::Steady(100.0)).await.all_good().unwrap();
        assert!((45..=51).contains(&steady.latencies.len()), "{}", steady.latencies.len());
        // However slow the machine is, it answers more calls in some time.
        let mut span = Duration::from_millis(500);
        while loaded_for(span, GOOD, Pace::Closed).await.all_good().unwrap().latencies.len() <= 51 {
            span *= 2;
            assert!(span < Duration::from_secs(300), "no more calls in {span:?}");
        }
    }

    #[tokio::test]
    async fn a_refusal_is_not_measured() {
        let refused = loaded(r#"{"code":-4,"data":null}"#, Pace::Steady(100.0)).await;
        assert_eq!(refused.latencies.len(), 0);
        assert!(refused.failed > 40);
        let error = refused.all_good().unwrap_err().to_string();
        assert!(error.contains(r#"{"code":-4"#), "{error}");
    }
}
