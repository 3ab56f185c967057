//! The arguments of `kiosque remote`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use kiosque_model::Zone;
use kiosque_model::setting::duration;
use kiosque_remote::{Report, TimeText};

use super::examples::remote as help;

/// The commands of `kiosque remote`.
#[derive(Debug, Subcommand)]
pub(crate) enum RemoteWhat {
    /// Log in, and store the profile if that succeeds.
    #[command(after_help = help::LOGIN)]
    Login(LoginArgs),
    /// End the session, for all commands that share it.
    #[command(after_help = "Examples:\n  kiosque remote logout\n  \
        kiosque remote logout --profile west")]
    Logout(Access),
    /// Show the account, its selected group, and when the session ends.
    #[command(after_help = "Examples:\n  kiosque remote whoami\n  \
        kiosque remote whoami --profile west --output json")]
    Whoami(Shown),
    /// List the stored profiles.
    #[command(after_help = "Examples:\n  kiosque remote profiles\n  \
        kiosque remote profiles --output json")]
    Profiles(Shown),
    /// List the groups of the account, the default one first.
    #[command(after_help = "Examples:\n  kiosque remote groups\n  \
        kiosque remote groups --output csv")]
    Groups(Shown),
    /// List devices.
    #[command(after_help = "Examples:\n  kiosque remote devices --all-groups --offline\n  \
        kiosque remote devices --group north --name Gare --columns deviceCode,address")]
    Devices(DevicesArgs),
    /// List orders, the oldest first for each device.
    #[command(after_help = help::ORDERS)]
    Orders(OrdersArgs),
    /// Show one order with its lines.
    #[command(after_help = "Examples:\n  kiosque remote order 2026112111474600000000073873\n  \
        kiosque remote order oid:837c06e774e27eb5 --internal --group north")]
    Order(OrderArgs),
    /// List the orders of a group by their latest change.
    #[command(after_help = help::CHANGES)]
    Changes(ChangesArgs),
    /// Copy all orders and devices of the account into an SQLite file, and later changes.
    #[command(after_help = help::MIRROR)]
    Mirror(MirrorArgs),
    #[command(flatten)]
    Report(ReportWhat),
    /// Make any call of the interface that reads.
    #[command(after_help = help::CALL)]
    Call(CallArgs),
}

/// The commands of `kiosque remote` that show a dashboard function.
#[derive(Debug, Subcommand)]
pub(crate) enum ReportWhat {
    /// Show the figures of a range.
    #[command(after_help = "Examples:\n  kiosque remote summary --since 7d\n  \
        kiosque remote summary --since 2026-03-01 --until 2026-04-01 --group north")]
    Summary(ReportArgs),
    /// Show the sales of each day; on a terminal as a chart.
    #[command(after_help = "Examples:\n  kiosque remote trend --since 30d\n  \
        kiosque remote trend --since 2026-03-01 --until 2026-04-01 --output csv")]
    Trend(ReportArgs),
    /// List the best-selling products, by items.
    #[command(after_help = "Examples:\n  kiosque remote best-sellers --since 7d\n  \
        kiosque remote best-sellers --device K-001 --device K-002")]
    BestSellers(ReportArgs),
    /// List the sales of each device, the largest amount first.
    #[command(after_help = "Examples:\n  kiosque remote by-device --since 7d\n  \
        kiosque remote by-device --watch 5s")]
    ByDevice(ReportArgs),
    /// List the aisles of devices with their products and stocks.
    #[command(after_help = "Examples:\n  kiosque remote aisles --device K-001\n  \
        kiosque remote aisles --output csv")]
    Aisles(ReportArgs),
    /// List the devices and whether they are online.
    #[command(after_help = "Examples:\n  kiosque remote online\n  \
        kiosque remote online --group north --watch")]
    Online(OnlineArgs),
}

impl ReportWhat {
    /// Returns the function, and the arguments of the command.
    pub(crate) fn parts(self) -> (Report, ReportArgs) {
        match self {
            ReportWhat::Summary(args) => (Report::Summary, args),
            ReportWhat::Trend(args) => (Report::Trend, args),
            ReportWhat::BestSellers(args) => (Report::BestSellers, args),
            ReportWhat::ByDevice(args) => (Report::ByDevice, args),
            ReportWhat::Aisles(args) => (Report::Aisles, args),
            ReportWhat::Online(OnlineArgs { group, shown }) => {
                let span = Span { since: None, until: None };
                (Report::Online, ReportArgs { group, span, device: vec![], shown })
            }
        }
    }
}

/// The profile of a command.
#[derive(Args, Debug)]
pub(crate) struct Access {
    /// Profile to use (or KIOSQUE_REMOTE_PROFILE) [default: default].
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Print each exchange with the server on standard error; passwords and tokens are replaced by
    /// stars.
    #[arg(long)]
    pub(crate) explain: bool,
}

/// How a command prints its answer.
#[derive(Args, Debug)]
pub(crate) struct Shown {
    #[command(flatten)]
    pub(crate) access: Access,
    /// Print a table for people, records as the server sent them (json, or ndjson with one on each
    /// line), or csv.
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: RemoteFormat,
    /// Only these columns, in this order, as in deviceCode,isOnline.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,
    /// Repeat until Ctrl-C, at this interval [default without a value: 1s].
    #[arg(
        long,
        value_name = "INTERVAL",
        num_args = 0..=1,
        default_missing_value = "1s",
        value_parser = interval
    )]
    pub(crate) watch: Option<Duration>,
    /// Time zone of times in tables, and of --since and --until [default: the platform's].
    #[arg(long, value_name = "ZONE", value_parser = Zone::named)]
    pub(crate) time_zone: Option<Zone>,
}

/// The format of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RemoteFormat {
    Table,
    Json,
    Ndjson,
    Csv,
}

/// The arguments of `kiosque remote login`.
#[derive(Args, Debug)]
pub(crate) struct LoginArgs {
    #[command(flatten)]
    pub(crate) access: Access,
    /// Base URL of the server or of a broker, such as https://kiosque.example.com/v8
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Login name of the account.
    #[arg(long, value_name = "NAME")]
    pub(crate) username: Option<String>,
    /// File with the password, which only its owner may access; - reads it from standard input,
    /// only for this login.
    #[arg(long, value_name = "FILE", conflicts_with = "password_command")]
    pub(crate) password_file: Option<PathBuf>,
    /// Command for the shell that prints the password, such as "pass kiosque/acme".
    #[arg(long, value_name = "COMMAND")]
    pub(crate) password_command: Option<String>,
    /// PEM file with the certificates to trust, instead of the system's.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

/// The group of a command.
#[derive(Args, Debug)]
pub(crate) struct InGroup {
    /// Group to select [default: the one that a login selects].
    #[arg(long, value_name = "ID")]
    pub(crate) group: Option<String>,
}

/// The arguments of `kiosque remote devices`.
#[derive(Args, Debug)]
pub(crate) struct DevicesArgs {
    #[command(flatten)]
    pub(crate) group: InGroup,
    /// The devices of all groups of the account.
    #[arg(long, conflicts_with = "group")]
    pub(crate) all_groups: bool,
    /// Only devices that are online.
    #[arg(long, conflicts_with = "offline")]
    pub(crate) online: bool,
    /// Only devices that are not online.
    #[arg(long)]
    pub(crate) offline: bool,
    /// Only devices with this text in their name.
    #[arg(long, value_name = "TEXT")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

/// A range of times.
#[derive(Args, Debug)]
pub(crate) struct Span {
    /// Start at this time: now, 24h or 7d before now, a date, "yyyy-MM-dd HH:mm:ss", or RFC 3339.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<TimeText>,
    /// End before this time, in the same forms.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<TimeText>,
}

/// The arguments of `kiosque remote orders`.
#[derive(Args, Debug)]
#[command(group = clap::ArgGroup::new("devices").required(true))]
pub(crate) struct OrdersArgs {
    #[command(flatten)]
    pub(crate) group: InGroup,
    /// Orders of this device; may be repeated.
    #[arg(long, value_name = "CODE", num_args = 1.., group = "devices")]
    pub(crate) device: Vec<String>,
    /// Orders of all devices that the group has now.
    #[arg(long, group = "devices")]
    pub(crate) all_devices: bool,
    #[command(flatten)]
    pub(crate) span: Span,
    /// Archived orders, too.
    #[arg(long)]
    pub(crate) history: bool,
    /// Stop after this number of orders, oldest first.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Only the N orders with the latest trade start, that one first, among the N of each device
    /// that arrived last; at most 1000, and not with --limit.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..=1000),
        conflicts_with = "limit"
    )]
    pub(crate) latest: Option<u64>,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

/// The arguments of `kiosque remote order`.
#[derive(Args, Debug)]
pub(crate) struct OrderArgs {
    /// Trade number: the tradeNo of an order.
    pub(crate) trade_no: String,
    /// Treat the number as the internal one, the tradeNoIn of an order.
    #[arg(long)]
    pub(crate) internal: bool,
    #[command(flatten)]
    pub(crate) group: InGroup,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

/// The arguments of `kiosque remote changes`.
#[derive(Args, Debug)]
pub(crate) struct ChangesArgs {
    #[command(flatten)]
    pub(crate) group: InGroup,
    /// Start after this cursor, printed by an earlier run [default: the first change].
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// Maximum number of changes in one answer.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) size: Option<u64>,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

/// The arguments of `kiosque remote mirror`.
#[derive(Args, Debug)]
pub(crate) struct MirrorArgs {
    /// File with the copy; it is created if it does not exist.
    #[arg(long, value_name = "FILE")]
    pub(crate) into: PathBuf,
    /// Copy changes until Ctrl-C, at this interval [default without a value: 1s].
    #[arg(
        long,
        value_name = "INTERVAL",
        num_args = 0..=1,
        default_missing_value = "1s",
        value_parser = interval
    )]
    pub(crate) watch: Option<Duration>,
    #[command(flatten)]
    pub(crate) access: Access,
}

/// The arguments of the reports of a range.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) group: InGroup,
    #[command(flatten)]
    pub(crate) span: Span,
    /// Only this device; may be repeated.
    #[arg(long, value_name = "CODE", num_args = 1..)]
    pub(crate) device: Vec<String>,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

/// The arguments of `kiosque remote online`. The call takes no range and no devices.
#[derive(Args, Debug)]
pub(crate) struct OnlineArgs {
    #[command(flatten)]
    pub(crate) group: InGroup,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

/// The arguments of `kiosque remote call`.
#[derive(Args, Debug)]
pub(crate) struct CallArgs {
    /// Path below the base URL, with its query string.
    pub(crate) path: String,
    /// Body: JSON, @FILE, or - for standard input [default: {}].
    pub(crate) body: Option<String>,
    #[command(flatten)]
    pub(crate) group: InGroup,
    #[command(flatten)]
    pub(crate) shown: Shown,
}

/// The minimum interval: a shorter one would keep other processes from the session.
const INTERVAL_MIN: Duration = Duration::from_millis(10);

fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    if interval < INTERVAL_MIN {
        return Err(format!("{text} is too short; the shortest interval is {INTERVAL_MIN:?}"));
    }
    Ok(interval)
}
