//! The measured program: its commands, and its server as a process.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kiosque_testkit::{Ran, Served};

use crate::client::{Call, Client};
use crate::engine::Engine;

/// The time after which a starting server counts as broken.
const START_WAIT_MAX: Duration = Duration::from_secs(60);

/// The program `kiosque` with one data directory.
#[derive(Clone)]
pub(crate) struct Kiosque {
    pub(crate) program: PathBuf,
    /// The directory of its data.
    pub(crate) data: PathBuf,
    pub(crate) engine: Engine,
    /// The name of its database, if it has one.
    pub(crate) database: String,
}

impl Kiosque {
    /// Returns the program as another node of the same database.
    ///
    /// # Errors
    /// Its directory cannot be created.
    pub(crate) fn another_node(&self) -> anyhow::Result<Kiosque> {
        let data = self.data.with_extension("node");
        fs::create_dir_all(&data)?;
        Ok(Kiosque { data, ..self.clone() })
    }

    /// Whether there is data already.
    pub(crate) fn has_data(&self) -> bool {
        self.data.is_dir()
    }

    /// Throws the data away.
    fn clear(&self) -> anyhow::Result<()> {
        self.engine.replace_database(&self.database)?;
        if self.has_data() {
            fs::remove_dir_all(&self.data)?;
        }
        Ok(())
    }

    /// Replaces the data with a fleet.
    ///
    /// # Errors
    /// The data cannot be removed.
    pub(crate) fn begin_with(&self, fleet: &Path) -> anyhow::Result<()> {
        self.clear()?;
        self.run(&["apply"], fleet);
        Ok(())
    }

    /// Stops a server of the data, and throws the data away.
    ///
    /// # Errors
    /// The data cannot be removed.
    pub(crate) fn discard(&self, mut server: Server) -> anyhow::Result<()> {
        server.process.stop();
        self.clear()
    }

    /// Runs a command with a file, such as `import orders`, to its end, with success.
    pub(crate) fn run(&self, words: &[&str], file: &Path) {
        Ran::of(self.command(words).arg(file)).success();
    }

    /// Creates an operator's key with these rights, separated by commas.
    pub(crate) fn operator_key(&self, rights: &str) -> String {
        let words = ["operator-key", "create", "bench", "--may", rights];
        Ran::of(&mut self.command(&words)).success().stdout.trim().to_owned()
    }

    /// Returns a path for a file next to the data.
    pub(crate) fn file_next_to(&self, name: &str) -> PathBuf {
        self.data.with_file_name(name)
    }

    /// Returns the size of the data in bytes, after a checkpoint of its log.
    ///
    /// # Errors
    /// When they cannot be counted.
    pub(crate) fn data_bytes(&self) -> anyhow::Result<u64> {
        if let Some(bytes) = self.engine.bytes(&self.database)? {
            return Ok(bytes);
        }
        Ok(fs::metadata(self.data.join("kiosque.db"))?.len())
    }

    /// Starts the server, and returns it when it listens.
    ///
    /// # Errors
    /// No address is left.
    pub(crate) fn serve_ready(&self) -> anyhow::Result<Server> {
        let mut server = self.serve()?;
        server.process.wait_for_address();
        Ok(server)
    }

    /// Starts the server on a free address; [`Server::first_answer`] waits until it answers.
    ///
    /// # Errors
    /// No address is left.
    pub(crate) fn serve(&self) -> anyhow::Result<Server> {
        let (address, operator) = (free_address()?, free_address()?);
        let (listen, operator_listen) = (address.to_string(), operator.to_string());
        let words = ["serve", "--listen", &listen, "--operator-listen", &operator_listen];
        let mut command = self.command(&words);
        let cert = self.data.join("tls").join("cert.pem");
        let started = Instant::now();
        let process = Served::spawn(&mut command, &cert);
        Ok(Server { process, address, operator, cert, started })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).arg("--data").arg(&self.data).stdin(Stdio::null());
        if let Some(address) = self.engine.address(&self.database) {
            command.arg("--store").arg(address);
        }
        command
    }
}

/// A server that runs.
pub(crate) struct Server {
    /// Its process.
    pub(crate) process: Served,
    address: SocketAddr,
    operator: SocketAddr,
    cert: PathBuf,
    started: Instant,
}

impl Server {
    /// Returns a client of a server that already answers.
    ///
    /// # Errors
    /// Its certificate cannot be read.
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        Client::trusting(&self.cert, self.address)
    }

    /// Returns a client of its operator's listener.
    ///
    /// # Errors
    /// Its certificate cannot be read.
    pub(crate) fn operator(&self) -> anyhow::Result<Client> {
        Client::trusting(&self.cert, self.operator)
    }

    /// The address of the operator's listener.
    pub(crate) fn operator_address(&self) -> SocketAddr {
        self.operator
    }

    /// Sends requests until there is a good answer; returns the time from the start of the process.
    ///
    /// # Errors
    /// There is none in time.
    pub(crate) async fn first_answer(&mut self, call: &Call) -> anyhow::Result<Duration> {
        while let Err(error) = self.try_once(call).await {
            if self.process.has_ended() || self.started.elapsed() > START_WAIT_MAX {
                bail!("kiosque serve does not answer: {error:#}; {}", self.process.stderr());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(self.started.elapsed())
    }

    async fn try_once(&self, call: &Call) -> anyhow::Result<()> {
        self.client()?.connect().await?.post(call).await?;
        Ok(())
    }
}

/// Returns an address of this machine without a listener.
///
/// # Errors
/// There is none left.
pub(crate) fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// Returns the program to measure: the option, or the one in the directory of this program.
///
/// # Errors
/// When it is not there.
pub(crate) fn find(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => std::env::current_exe()?.with_file_name("kiosque"),
    };
    path.canonicalize().with_context(|| {
        format!("no program {}; build it with `cargo build --release -p kiosque`", path.display())
    })
}
