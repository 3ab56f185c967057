//! `kiosque broker` with a real server behind it, over TLS.

mod flags;
mod full_size;
mod isolation;
mod passing_on;
mod program;
mod stopping;
mod waiting;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use kiosque_broker::{
    Broker, BrokerOptions, DeviceLists, Listeners, WorkerLogin, broker_limits, serve,
};
use kiosque_client::session::SessionParts;
use kiosque_client::{Request, Transport};
use kiosque_listener::tls::{Certificate, Identity};
use kiosque_listener::{Listener, PlainListener};
use kiosque_testkit::{Client, DEVICES_PATH, LoggedIn, Reply, SWITCH_PATH, TOKEN_PATH, TestServer};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::timed_profile;

const LOG_IN: &str = r#"{"username":"ops","password":"secret"}"#;

/// A broker in the process of the test, before the account `ops` of a server.
struct LocalBroker {
    address: SocketAddr,
    plain_address: SocketAddr,
    status_address: SocketAddr,
    certificate: PathBuf,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

/// Starts a broker, with changed parts of its session.
async fn broker(server: &TestServer, change: impl FnOnce(&mut SessionParts)) -> LocalBroker {
    broker_with(server, DeviceLists::InTheirGroup, change).await
}

async fn broker_with(
    server: &TestServer,
    device_lists: DeviceLists,
    change: impl FnOnce(&mut SessionParts),
) -> LocalBroker {
    let workers = vec![WorkerLogin::new("ops", "secret")];
    let mut options = options(server, workers);
    options.device_lists = device_lists;
    change(&mut options.session);
    LocalBroker::serve(options, &server.certificate_file()).await
}

/// Returns the options of a broker for these workers, with the usual limits.
fn options(server: &TestServer, workers: Vec<WorkerLogin>) -> BrokerOptions {
    BrokerOptions {
        session: timed_profile(server, "secret").into_session_parts().unwrap(),
        upstream: format!("https://{}/v8", server.address),
        workers,
        device_lists: DeviceLists::InTheirGroup,
        limits: broker_limits(),
    }
}

/// Calls `see` with each request that a broker sends.
fn observe(parts: &mut SessionParts, see: impl Fn(&Request) + Send + Sync + 'static) {
    let transport = parts.transport.clone();
    parts.transport = Transport::from_fn(move |request, token| {
        see(&request);
        let transport = transport.clone();
        Box::pin(async move { transport.send(request, token).await })
    });
}

impl LocalBroker {
    /// Starts a broker with the certificate of its server.
    async fn serve(options: BrokerOptions, certificate: &Path) -> LocalBroker {
        let key = certificate.with_file_name("key.pem");
        let identity = Identity { cert: certificate.to_owned(), key };
        let tls = Listener::bind("127.0.0.1:0", Certificate::open(identity).unwrap()).await;
        let plain = || PlainListener::bind(([127, 0, 0, 1], 0).into());
        let (tls, plain, status) = (tls.unwrap(), plain().await.unwrap(), plain().await.unwrap());
        let address = tls.address().unwrap();
        let [plain_address, status_address] =
            [&plain, &status].map(|listener| listener.address().unwrap());
        let (stop, stopped) = oneshot::channel();
        let listeners = Listeners { tls, plain: Some(plain), status: Some(status) };
        let stopped = async move { drop(stopped.await) };
        let serving = tokio::spawn(serve(Broker::new(options), listeners, stopped));
        let certificate = certificate.to_owned();
        LocalBroker { address, plain_address, status_address, certificate, stop, serving }
    }

    async fn connect(&self) -> Client {
        Client::connect(self.address, &self.certificate).await
    }

    /// Logs a worker in and selects a group.
    async fn worker(&self, group: &str) -> Worker {
        Worker::log_in(self.address, &self.certificate, group).await
    }
}

/// A worker that has logged in to a broker, or to a server.
struct Worker {
    client: Client,
    token: String,
    group: String,
}

impl Worker {
    /// Logs in and selects a group.
    async fn log_in(address: SocketAddr, certificate: &Path, group: &str) -> Worker {
        Worker::log_in_with(LOG_IN, address, certificate, group).await
    }

    /// Logs in with the body of a login, and selects a group.
    async fn log_in_with(
        body: &str,
        address: SocketAddr,
        certificate: &Path,
        group: &str,
    ) -> Worker {
        let mut client = Client::connect(address, certificate).await;
        let logged_in = LoggedIn::of(&client.call(TOKEN_PATH, None, body).await);
        let body = format!(r#"{{"groupId":"{group}"}}"#);
        let switched = client.call(SWITCH_PATH, Some(&logged_in.token), &body).await;
        let LoggedIn { token, group, .. } = LoggedIn::of(&switched);
        Worker { client, token, group }
    }

    async fn call(&mut self, path: &str, body: &str) -> Reply {
        self.client.call(path, Some(&self.token), body).await
    }

    /// Lists the devices of its group, and asserts that they are the two of that group.
    async fn list_devices(&mut self) -> Reply {
        let reply = self.call(DEVICES_PATH, "{}").await;
        let records = reply.success()["records"].as_array().unwrap();
        let codes: Vec<_> = records.iter().map(|record| record["deviceCode"].clone()).collect();
        assert_eq!(codes, ["1", "2"].map(|number| format!("{}-{number}", self.group)));
        reply
    }
}
