//! `kiosque broker`

mod one_per_account;
mod status;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use kiosque_broker::{
    Broker, BrokerOptions, DeviceLists, Listeners, WorkerLogin, broker_limits, serve,
};
use kiosque_client::session::Pace;
use kiosque_client::{BaseUrl, Profile, read_text_file};
use kiosque_clock::Clock;
use kiosque_ingest::toml_error;
use kiosque_listener::tls::{Certificate, Identity};
use kiosque_listener::{Listener, PlainListener};
use kiosque_remote::{Resolved, one_line};
use kiosque_server::self_signed;
use kiosque_store::mode_for_others;

use crate::args::{
    BrokerAccount, BrokerArgs, BrokerNetwork, BrokerSharing, BrokerWhat, OnEviction,
};
use crate::interrupt::EndingSignals;
use crate::serve::{cannot_listen, end, raise_open_files};
use crate::{remote, service_manager};

pub(crate) async fn run(args: BrokerArgs) -> anyhow::Result<()> {
    if let Some(BrokerWhat::Status { watch, status_listen }) = args.what {
        return status::print(status_listen, watch.then_some(status::INTERVAL)).await;
    }
    let BrokerArgs { account, network, sharing, .. } = args;
    let options = account.options(&sharing)?;
    let directory = state_directory()?;
    let username = &options.session.credentials.username;
    let _lock = one_per_account::lock(&directory, &options.upstream, username)?;
    raise_open_files();
    let listeners = listen(&network, &directory).await?;
    let stop = end(EndingSignals::receive()?);
    service_manager::report_ready();
    serve(Broker::new(options), listeners, stop).await;
    Ok(())
}

impl BrokerAccount {
    /// Reads the files in the arguments.
    fn options(self, sharing: &BrokerSharing) -> anyhow::Result<BrokerOptions> {
        let BrokerAccount { profile, upstream, username, password_file, ca_file, workers } = self;
        let (upstream, username, password, ca_file) = match profile {
            Some(name) => {
                let Resolved { url, username, password, fields, .. } = remote::profile(Some(name))?;
                let source = password.context(
                    "the profile has no source of the password; run `kiosque remote login` with \
                     --password-file FILE or --password-command COMMAND",
                )?;
                let password = source.read().map_err(anyhow::Error::msg)?;
                (url, username, password, fields.ca_file)
            }
            None => {
                let file = password_file.context("--password-file is missing")?;
                let upstream = upstream.context("--upstream is missing")?;
                let username = username.context("--username is missing")?;
                (upstream, username, read_password(&file)?, ca_file)
            }
        };
        // Normalized, regardless of the spelling: its account has one broker.
        let upstream = upstream.parse::<BaseUrl>().context("--upstream")?.to_string();
        let mut profile = Profile::new(&upstream, &username, &*password)?.pace(sharing.pace());
        if let Some(file) = ca_file {
            profile = profile.ca_file(&file).context("--ca-file")?;
        }
        let workers = match workers {
            Some(file) => read_workers(&file).context("--workers")?,
            None => vec![WorkerLogin::new(&username, &password)],
        };
        Ok(BrokerOptions {
            session: profile.into_session_parts()?,
            upstream,
            workers,
            device_lists: match sharing.filter_devices {
                true => DeviceLists::Filtered,
                false => DeviceLists::InTheirGroup,
            },
            limits: broker_limits(),
        })
    }
}

fn read_password(file: &Path) -> anyhow::Result<String> {
    let password = read_secret(file).context("--password-file")?;
    one_line(&password).map_err(|reason| anyhow!("--password-file: {} {reason}", file.display()))
}

fn read_workers(file: &Path) -> anyhow::Result<Vec<WorkerLogin>> {
    let text = read_secret(file)?;
    let file = file.display();
    let expected = "write NAME = \"PASSWORD\" on a line for each";
    let read: Result<BTreeMap<String, toml::Value>, _> = toml::from_str(&text);
    let read =
        read.map_err(|error| anyhow!("{file}: {}; {expected}", toml_error(&text, &error)))?;
    if read.is_empty() {
        bail!("{file} has no worker; {expected}");
    }
    let login = |(name, password): (String, toml::Value)| match password {
        toml::Value::String(password)
            if [&name, &password].iter().any(|it| it.trim().is_empty()) =>
        {
            Err(anyhow!("{file}: {name:?}: a name or a password is blank; {expected}"))
        }
        toml::Value::String(password) => Ok(WorkerLogin::new(&name, &password)),
        // The value may be a password without quotes.
        _ => Err(anyhow!("{file}: {name} is not a string; {expected}")),
    };
    read.into_iter().map(login).collect()
}

/// Reads a file with a secret, and warns if other users of the machine can also read it.
fn read_secret(file: &Path) -> anyhow::Result<String> {
    if let Some(mode) = mode_for_others(file) {
        let path = file.display();
        tracing::warn!(%path, mode = format!("{mode:o}"), "other users can read the secret");
    }
    read_text_file(file).with_context(|| format!("cannot read {}", file.display()))
}

impl BrokerSharing {
    fn pace(&self) -> Pace {
        let usual = Pace::default();
        let hold_max = self.evictions_max_hold;
        let (hold_from, hold_first, refusals_max) = match self.on_eviction {
            OnEviction::TakeBack => (usual.hold_from, usual.hold_first, u32::MAX),
            OnEviction::Yield => (1, hold_max, u32::MAX),
            OnEviction::Fail => (usual.hold_from, usual.hold_first, 1),
        };
        Pace {
            turn: self.group_turn,
            linger_max: self.linger,
            calls_max: self.upstream_calls.get(),
            wait_max: self.wait,
            renew_before: self.renew_before,
            hold_from,
            hold_first,
            hold_max,
            refusals_max,
            ..usual
        }
    }
}

/// Returns the directory of the locks and of the self-signed certificate.
fn state_directory() -> anyhow::Result<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let base = absolute("XDG_STATE_HOME");
    let base = base.or_else(|| Some(absolute("HOME")?.join(".local/state")));
    let base = base.context("no directory for the broker's state: set XDG_STATE_HOME or HOME")?;
    Ok(base.join("kiosque"))
}

/// Binds the addresses, and logs them.
async fn listen(network: &BrokerNetwork, directory: &Path) -> anyhow::Result<Listeners> {
    let identity = match (&network.tls_cert, &network.tls_key) {
        (Some(cert), Some(key)) => Identity { cert: cert.clone(), key: key.clone() },
        _ => self_signed(directory, Clock::System.now())?,
    };
    let certificate = Certificate::open(identity.clone())?;
    let bound = Listener::bind(network.listen, certificate).await;
    let tls = bound.with_context(|| cannot_listen(network.listen, "--listen"))?;
    let plain = bind_plain(network.plain_listen, "--plain-listen").await?;
    let status = bind_plain(network.status_listen, "--status-listen").await?;
    tracing::info!("the broker serves https://{}/v8", tls.address()?);
    if let Some(plain) = &plain {
        tracing::info!("and without TLS http://{}/v8", plain.address()?);
    }
    tracing::info!("its certificate is {}", identity.cert.display());
    if let Some(status) = &status {
        tracing::info!("its status is at http://{}/", status.address()?);
    }
    Ok(Listeners { tls, plain, status })
}

async fn bind_plain(
    address: Option<SocketAddr>,
    flag: &str,
) -> anyhow::Result<Option<PlainListener>> {
    let Some(address) = address else { return Ok(None) };
    let bound = PlainListener::bind(address).await;
    Ok(Some(bound.with_context(|| cannot_listen(address, flag))?))
}
