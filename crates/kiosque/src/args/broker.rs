//! The arguments of `kiosque broker`.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use kiosque_client::session::Pace;
use kiosque_model::setting::{duration, positive_duration};

const STATUS_LISTEN: &str = "127.0.0.1:8452";

/// The arguments of `kiosque broker`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct BrokerArgs {
    #[command(subcommand)]
    pub(crate) what: Option<BrokerWhat>,
    #[command(flatten)]
    pub(crate) account: BrokerAccount,
    #[command(flatten)]
    pub(crate) network: BrokerNetwork,
    #[command(flatten)]
    pub(crate) sharing: BrokerSharing,
}

/// The commands for a running broker.
#[derive(Debug, Subcommand)]
pub(crate) enum BrokerWhat {
    /// Print the session, the groups with waiting calls, and the number of evictions.
    #[command(after_help = "Examples:\n  kiosque broker status\n  \
        kiosque broker status --watch --status-listen 127.0.0.1:9452")]
    Status {
        /// Print it again every two seconds, until Ctrl-C.
        #[arg(long)]
        watch: bool,
        /// Address of the broker's status.
        #[arg(long, value_name = "ADDRESS", default_value = STATUS_LISTEN)]
        status_listen: SocketAddr,
    },
}

/// The account whose session is shared.
#[derive(Args, Debug)]
pub(crate) struct BrokerAccount {
    /// Profile of `kiosque remote` with the server, the login name and the source of the password.
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["upstream", "username", "password_file", "ca_file"]
    )]
    pub(crate) profile: Option<String>,
    /// Base URL of the server, such as https://kiosque.example.com/v8
    #[arg(long, value_name = "URL", required_unless_present = "profile")]
    pub(crate) upstream: Option<String>,
    /// Login name of the account.
    #[arg(long, value_name = "NAME", required_unless_present = "profile")]
    pub(crate) username: Option<String>,
    /// File with the password of the account; only its owner should be able to read it.
    #[arg(long, value_name = "FILE", required_unless_present = "profile")]
    pub(crate) password_file: Option<PathBuf>,
    /// PEM file with the certificates to trust, instead of the system's.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// TOML file with the workers that may log in, NAME = "PASSWORD" on each line; without it they
    /// log in with the name and the password of the account.
    #[arg(long, value_name = "FILE")]
    pub(crate) workers: Option<PathBuf>,
}

/// The addresses of a broker.
#[derive(Args, Debug)]
pub(crate) struct BrokerNetwork {
    /// Address for workers, over HTTPS.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8450")]
    pub(crate) listen: SocketAddr,
    /// Address for workers on this machine, over plain HTTP; a loopback address.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) plain_listen: Option<SocketAddr>,
    /// Address of the status and of /metrics, over plain HTTP; a loopback address. Without it there
    /// is no status, since any user of the machine could read the names of groups and workers
    /// there.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) status_listen: Option<SocketAddr>,
    /// Certificate with its chain, in PEM; without it, a self-signed one is created.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
}

/// How the session is shared.
#[derive(Args, Debug)]
pub(crate) struct BrokerSharing {
    /// Time for which a group has the session while calls of other groups wait.
    #[arg(long, value_name = "DURATION", default_value = "200ms", value_parser = duration)]
    pub(crate) group_turn: Duration,
    /// Maximum wait for the next call of a group before a switch, or auto, which is 5ms; in any
    /// case at most half the duration of a switch.
    #[arg(long, value_name = "DURATION", default_value = "auto", value_parser = linger)]
    pub(crate) linger: Duration,
    /// Maximum concurrent calls to the server.
    #[arg(long, value_name = "N", default_value = "8", value_parser = super::from_one)]
    pub(crate) upstream_calls: NonZeroUsize,
    /// Time after which a call that still waits for its group is answered with -4 and a note.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = positive_duration)]
    pub(crate) wait: Duration,
    /// Time before the session's end at which it is renewed.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    pub(crate) renew_before: Duration,
    /// What to do when another user of the account has replaced the session.
    #[arg(long, value_name = "POLICY", default_value = "take-back")]
    pub(crate) on_eviction: OnEviction,
    /// Maximum wait before a replaced session is taken back.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    pub(crate) evictions_max_hold: Duration,
    /// Request lists of devices with the filter groupId in whichever group is selected, which saves
    /// switches. The server must allow that for every group of the account.
    #[arg(long)]
    pub(crate) filter_devices: bool,
}

/// What to do when another user of the account has replaced the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnEviction {
    /// Log in again at once, with increasing delays if it recurs; calls wait.
    TakeBack,
    /// Log in again after --evictions-max-hold; calls wait.
    Yield,
    /// Answer the call with -4; the next one logs in again.
    Fail,
}

fn linger(text: &str) -> Result<Duration, String> {
    if text == "auto" { Ok(Pace::default().linger_max) } else { duration(text) }
}
