//! One PostgreSQL server, which can be stopped, killed, frozen and followed.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::ports;
use crate::processes::{self, signal, signal_children};
use crate::programs::psql;
use crate::server_directory::ServerDirectory;
use crate::wait::wait_until;

/// The name of the user, a superuser, and of the database.
const NAME: &str = "kiosque";
/// The directory of the server's data, in its directory.
const DATA: &str = "data";
const LOG: &str = "log";
/// Maximum lines of the log in an error.
const LOG_LINES: usize = 20;
/// The time limit of a start, which may include a recovery on a busy machine.
const START_AT_MOST: Duration = Duration::from_secs(300);
/// The time limit of a fast shutdown, which waits for standbys: a frozen one never catches up.
const FAST_STOP_AT_MOST: Duration = Duration::from_secs(10);
/// The number of ports to try: another process may take a port that was free a moment ago.
const PORTS_TO_TRY: usize = 5;

/// Settings of every server. With `wal_keep_size`, a standby may be away for a while. The layout is
/// created in one transaction, which locks each table and index, by several tests at a time.
const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
max_connections = 700
max_locks_per_transaction = 256
logging_collector = off
log_line_prefix = '%m [%p] '
wal_level = replica
max_wal_senders = 10
wal_keep_size = '512MB'
wal_retrieve_retry_interval = '100ms'
hot_standby = on
";

/// Settings of a server that no test kills.
const NOT_DURABLE: &str = "
fsync = off
synchronous_commit = off
full_page_writes = off
autovacuum = off
";

/// Refuses connections without TLS.
const TLS_ALONE: &str = "
hostssl all all 127.0.0.1/32 trust
hostssl replication all 127.0.0.1/32 trust
";

/// The durability of committed rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// They survive a kill, as in PostgreSQL's default settings.
    Full,
    /// They are written eventually: fast, for tests that kill nothing. No autovacuum either.
    Off,
}

/// One PostgreSQL server in its own temporary directory, killed and removed when dropped, or when
/// the process that started it ends. Its user `kiosque` is a superuser and needs no password.
pub struct Server {
    // Dropped first: its watchdog kills the postmaster, which is waited for after that.
    directory: ServerDirectory,
    postmaster: Option<Postmaster>,
    port: u16,
}

struct Postmaster(Child);

impl Drop for Postmaster {
    fn drop(&mut self) {
        // It is dead already unless the watchdog was killed; an error cannot be returned from here.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// Creates a server with an empty database `kiosque` (UTF8, sorted as in English), starts it on
    /// a free port of 127.0.0.1, and returns when it answers.
    pub fn start(durability: Durability) -> Result<Server> {
        Server::create(durability)?.open()
    }

    /// Like [`Server::start`] with [`Durability::Off`], but the server presents this certificate
    /// and refuses connections without TLS.
    pub fn start_with_tls(cert_pem: &str, key_pem: &str) -> Result<Server> {
        let server = Server::create(Durability::Off)?;
        server.directory.write("data/server.crt", cert_pem)?;
        server.directory.write("data/server.key", key_pem)?;
        server.directory.write("data/pg_hba.conf", TLS_ALONE)?;
        server.set("ssl = on\n")?;
        server.open()
    }

    /// Returns `postgres://kiosque@127.0.0.1:PORT/kiosque`.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(NAME)
    }

    /// Returns its port at 127.0.0.1, which stays the same when it is restarted.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Runs statements with `psql` and returns only their rows: one per line, values separated by
    /// `|`.
    pub fn sql(&self, text: &str) -> Result<String> {
        psql(&self.url(), [text])
    }

    /// Starts a standby that follows this server synchronously: if both have [`Durability::Full`],
    /// this server's commits are answered when the standby has them on disk too, and wait while it
    /// is away. Its durability is this server's.
    pub fn standby(&self) -> Result<Server> {
        let mut standby =
            Server { directory: ServerDirectory::create()?, postmaster: None, port: 0 };
        let from = ["--dbname", &self.url(), "--pgdata", DATA];
        let how =
            ["--checkpoint=fast", "--wal-method=stream", "--write-recovery-conf", "--no-sync"];
        standby.directory.run("pg_basebackup", &[from, how].concat())?;
        standby.start_on_a_free_port()?;
        let wait_for_any = "alter system set synchronous_standby_names = '*'";
        psql(&self.url(), [wait_for_any, RELOAD])?;
        let state = format!(
            "select sync_state from pg_stat_replication where application_name = '{}'",
            name_at(standby.port)
        );
        wait_until("the standby follows synchronously", START_AT_MOST, || {
            // `potential`: it is the next in line behind another standby.
            Ok(matches!(self.sql(&state)?.as_str(), "sync" | "potential"))
        })?;
        Ok(standby)
    }

    /// Ends the replication to a standby, which gets no later commit; they do not wait for it.
    pub fn detach(&self, standby: &Server) -> Result<()> {
        psql(&self.url(), ["alter system reset synchronous_standby_names", RELOAD])?;
        psql(&standby.url(), ["alter system set primary_conninfo = ''", RELOAD])?;
        wait_until("the standby receives nothing", START_AT_MOST, || {
            Ok(standby.sql("select count(*) from pg_stat_wal_receiver")? == "0")
        })
    }

    /// Promotes a standby to an independent server, which waits for no standby; returns when it
    /// accepts writes. The server that it followed is not notified.
    pub fn promote(&self) -> Result<()> {
        // The setting came along with the base backup if there was a standby before this one.
        let wait_for_none = "alter system reset synchronous_standby_names";
        psql(&self.url(), [wait_for_none, RELOAD])?;
        match self.sql("select pg_promote()")?.as_str() {
            "t" => Ok(()),
            _ => bail!("the standby was not promoted in time. {}", self.log()),
        }
    }

    /// Kills the postmaster and all its children with SIGKILL, and returns when they are gone.
    pub fn kill_9(&mut self) -> Result<()> {
        let pid = self.pid()?;
        // A stopped parent reaps no children, and starts none but one that it was starting.
        signal("STOP", pid)?;
        wait_until("all children are dead", START_AT_MOST, || {
            signal_children("KILL", pid)?;
            Ok(!processes::has_children(pid)?)
        })?;
        signal("KILL", pid)?;
        self.wait_for_end(START_AT_MOST)
    }

    /// Shuts the server down: clients are disconnected, their transactions rolled back, and all
    /// others written.
    pub fn stop(&mut self) -> Result<()> {
        let pid = self.pid()?;
        signal("INT", pid)?;
        if self.wait_for_end(FAST_STOP_AT_MOST).is_err() {
            signal("QUIT", pid)?;
            self.wait_for_end(START_AT_MOST)?;
        }
        Ok(())
    }

    /// Starts a server that was stopped or killed, in the same directory and on the same port, and
    /// returns when it answers.
    pub fn start_again(&mut self) -> Result<()> {
        if self.postmaster.is_some() {
            bail!("the server runs already");
        }
        self.launch()
    }

    /// Stops the postmaster and all its children with SIGSTOP: connections stay open and nothing
    /// answers, as when a machine hangs.
    pub fn freeze(&self) -> Result<()> {
        let pid = self.pid()?;
        signal("STOP", pid)?;
        signal_children("STOP", pid)
    }

    /// Ends a [`Server::freeze`].
    pub fn thaw(&self) -> Result<()> {
        let pid = self.pid()?;
        signal_children("CONT", pid)?;
        signal("CONT", pid)
    }

    /// Returns the processor time, in user and system mode, of the postmaster and of all children
    /// that it has or had since it was last started; in steps of 10 ms.
    pub fn cpu_time(&self) -> Result<Duration> {
        processes::cpu_time(self.pid()?)
    }

    /// Creates the files of a new server, with its settings.
    fn create(durability: Durability) -> Result<Server> {
        let server = Server { directory: ServerDirectory::create()?, postmaster: None, port: 0 };
        let data = ["--pgdata", DATA, "--username", NAME, "--auth", "trust"];
        let how = ["--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync", "--no-instructions"];
        // A collation of a language, as most databases have: order by code point must be requested.
        let order = ["--locale-provider", "icu", "--icu-locale", "en-US"];
        server.directory.run("initdb", &[&data[..], &how, &order].concat())?;
        server.set(SETTINGS)?;
        if durability == Durability::Off {
            server.set(NOT_DURABLE)?;
        }
        Ok(server)
    }

    fn open(mut self) -> Result<Server> {
        self.start_on_a_free_port()?;
        psql(&self.url_of("postgres"), [format!("create database {NAME}").as_str()])?;
        Ok(self)
    }

    fn start_on_a_free_port(&mut self) -> Result<()> {
        let mut tries = 1;
        loop {
            self.port = ports::free()?;
            // A standby is known to its primary by the name of its cluster.
            let (port, name) = (self.port, name_at(self.port));
            let sockets = self.directory.path("").display().to_string().replace('\'', "''");
            self.set(&format!("port = {port}\ncluster_name = '{name}'\n"))?;
            self.set(&format!("unix_socket_directories = '{sockets}'\n"))?;
            match self.launch() {
                Err(_) if tries < PORTS_TO_TRY && self.log().contains("could not bind") => {
                    tries += 1;
                }
                ended => return ended,
            }
        }
    }

    /// Adds settings; the last value of each applies.
    fn set(&self, settings: &str) -> Result<()> {
        self.directory.append("data/postgresql.conf", settings)
    }

    fn launch(&mut self) -> Result<()> {
        let log =
            File::create(self.directory.path(LOG)).context("cannot write the server's log")?;
        let mut postgres = self.directory.program("postgres")?;
        postgres.args(["-D", DATA]).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        // A separate process group keeps the signals of a terminal away from it.
        let postmaster = postgres.process_group(0).spawn().context("cannot start postgres")?;
        let pid = postmaster.id();
        self.postmaster = Some(Postmaster(postmaster));
        self.directory.watch(Some(pid))?;
        wait_until("the server answers", START_AT_MOST, || self.is_ready_or_failed())
            .with_context(|| self.log())?;
        Ok(())
    }

    /// Returns whether the server's lock file says that it accepts connections, as `pg_ctl` checks.
    /// A connection to its port would not do: another server might answer it.
    fn is_ready_or_failed(&mut self) -> Result<bool> {
        if self.has_ended()? {
            bail!("the server does not start");
        }
        let lock =
            fs::read_to_string(self.directory.path("data/postmaster.pid")).unwrap_or_default();
        let lines: Vec<&str> = lock.lines().map(str::trim).collect();
        let pid = self.pid()?.to_string();
        // The lock file of a killed server contains another process id.
        Ok(lines.first() == Some(&pid.as_str()) && lines.get(7) == Some(&"ready"))
    }

    fn wait_for_end(&mut self, at_most: Duration) -> Result<()> {
        wait_until("the server ends", at_most, || self.has_ended())
    }

    /// Returns whether the postmaster has ended.
    fn has_ended(&mut self) -> Result<bool> {
        let Some(Postmaster(child)) = &mut self.postmaster else { return Ok(true) };
        if child.try_wait()?.is_none() {
            return Ok(false);
        }
        self.postmaster = None;
        self.directory.watch(None)?;
        Ok(true)
    }

    fn pid(&self) -> Result<u32> {
        let Postmaster(child) = self.postmaster.as_ref().context("the server does not run")?;
        Ok(child.id())
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgres://{NAME}@127.0.0.1:{}/{database}", self.port)
    }

    /// Returns the end of the log of the latest start.
    fn log(&self) -> String {
        let log = fs::read(self.directory.path(LOG)).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        let from = lines.len().saturating_sub(LOG_LINES);
        format!("The server's log ends:\n{}", lines[from..].join("\n"))
    }
}

/// Makes a server reload its settings.
const RELOAD: &str = "select pg_reload_conf()";

/// Returns the cluster name of a server on this port.
fn name_at(port: u16) -> String {
    format!("kiosque_{port}")
}
