//! `kiosque fault-proxy`, and the same proxy in a demo.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;

use anyhow::{Context, bail};
use clap::Args;
use kiosque_clock::Clock;
use kiosque_faults::{Fault, FaultProxy, Faults};
use kiosque_https_client::{BaseUrl, HttpsClient, trust, trust_pem};
use kiosque_listener::Listener;
use kiosque_listener::tls::{Certificate, Identity};
use kiosque_model::Limits;
use kiosque_server::SelfSignedPem;

use crate::interrupt::EndingSignals;
use crate::settings::Settings;
use crate::{output, serve};

/// The faults of a demo or of a proxy.
#[derive(Args, Clone, Debug)]
pub(crate) struct FaultFlags {
    /// Inject this fault into some answers to integrators; may be repeated; --help lists all.
    #[arg(long = "fault", value_name = "FAULT", help_heading = "Faults")]
    faults: Vec<Fault>,
    /// Seed of the random choices of faults.
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        value_parser = seed,
        help_heading = "Faults"
    )]
    seed: u64,
}

impl FaultFlags {
    /// Returns the faults, if any.
    pub(crate) fn given(self) -> Option<Faults> {
        (!self.faults.is_empty()).then(|| Faults::new(self.faults, self.seed))
    }
}

/// The arguments of `kiosque fault-proxy`.
#[derive(Args, Debug)]
pub(crate) struct FaultProxyArgs {
    /// Base URL of the server, such as https://kiosque.example.com/v8
    url: BaseUrl,
    /// Address to listen on.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    listen: SocketAddr,
    /// Certificates to trust, PEM [default: the system's].
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Certificate of the proxy and its chain, PEM [default: a self-signed one in memory].
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    #[command(flatten)]
    faults: FaultFlags,
}

fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is not a whole number from 0 to {}", u64::MAX))
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not an IP address with a port, such as 127.0.0.1:8450"))
}

/// Forwards calls until SIGTERM or SIGINT, and then finishes those in progress.
pub(crate) async fn run(settings: &Settings, args: FaultProxyArgs) -> anyhow::Result<()> {
    let FaultProxyArgs { url, listen, ca_file, tls_cert, tls_key, faults } = args;
    let Some(faults) = faults.given() else {
        bail!("no fault is given: add --fault, such as --fault 'every(7, code500)'");
    };
    let server = HttpsClient::new(url, trust(ca_file.as_deref()).context("--ca-file")?)?;
    let certificate = match tls_cert.zip(tls_key) {
        Some((cert, key)) => {
            let certificate = Certificate::open(Identity { cert, key });
            let certificate = certificate.context("--tls-cert and --tls-key")?;
            serve::reload_on_change(certificate.clone())?;
            certificate
        }
        None => {
            let pem = SelfSignedPem::generate(Clock::System.now())?;
            output::print(&pem.cert)?;
            Certificate::in_memory(&pem.cert, &pem.key)?
        }
    };
    let end = serve::end(EndingSignals::receive()?);
    let listener = Listener::bind(listen, certificate).await;
    let listener = listener.with_context(|| serve::cannot_listen(listen, "--listen"))?;
    tracing::info!("calls are forwarded to {}, with faults: {faults}", server.url());
    tracing::info!("kiosque fault-proxy serves https://{}/v8", listener.address()?);
    FaultProxy::new(server, faults, Clock::System).serve(listener, settings.limits()?, end).await;
    Ok(())
}

/// A future at whose end a server stops.
pub(crate) type Ending = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Puts a proxy in front of a listener. Returns another listener, for the server: on a free port of
/// this machine, with a certificate that only the proxy trusts. Also returns the future at whose
/// end the server stops: after the proxy, which needs it until then.
pub(crate) async fn before_server(
    public: Listener,
    faults: Faults,
    clock: Clock,
    limits: Limits,
    ending: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<(Listener, Ending)> {
    let pem = SelfSignedPem::generate(Clock::System.now())?;
    let certificate = Certificate::in_memory(&pem.cert, &pem.key)?;
    let inner = Listener::bind("127.0.0.1:0", certificate).await?;
    let url: BaseUrl = format!("https://{}", inner.address()?).parse()?;
    let server = HttpsClient::new(url, trust_pem(&pem.cert)?)?;
    let inner = inner.behind(public.address()?);
    let proxy = FaultProxy::new(server, faults, clock);
    Ok((inner, Box::pin(proxy.serve(public, limits, ending))))
}
