//! The command line.

mod broker;
mod changes;
mod examples;
mod keys;
mod lists;
mod own_flags;
mod remote;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::{io, process};

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use kiosque_https_client::without_user_info;

use self::examples::{BROKER_HELP, CHECK_HELP, DEMO_HELP, EXAMPLES, FAULT_PROXY_HELP};
use self::lists::list_examples;
use crate::check::CheckArgs;
use crate::console_link::ConsoleLinkArgs;
use crate::demo::DemoFlags;
use crate::fault_proxy::FaultProxyArgs;
use crate::output::{CANNOT_WRITE, Output, eprint_line};
use crate::settings::{self, CONFIG_VARIABLE, Given, variable_named};

pub(crate) use broker::{
    BrokerAccount, BrokerArgs, BrokerNetwork, BrokerSharing, BrokerWhat, OnEviction,
};
pub(crate) use changes::{ArchiveArgs, DryRun};
pub(crate) use keys::KeyWhat;
pub(crate) use lists::{
    AccountWhat, AuditArgs, DeviceWhat, FleetFormat, FleetWhat, GroupWhat, OrderExport,
    OrderFormat, OrdersWhat, ProductWhat, RatesWhat, SessionWhat,
};
pub(crate) use remote::{
    Access, CallArgs, ChangesArgs, DevicesArgs, LoginArgs, MirrorArgs, OrderArgs, OrdersArgs,
    RemoteFormat, RemoteWhat, ReportArgs, Shown, Span,
};

/// The device and order query service of a vending-kiosk platform.
#[derive(Debug, Parser)]
#[command(name = "kiosque", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    /// Read settings from this TOML file; unknown keys are errors.
    #[arg(long, global = true, value_name = "FILE", env = CONFIG_VARIABLE)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a demonstration fleet, and print example calls.
    #[command(
        after_help = DEMO_HELP,
        after_long_help = format!("{DEMO_HELP}\n\n{}", kiosque_faults::reference())
    )]
    Demo(Box<DemoFlags>),
    /// Serve the interface over HTTPS.
    #[command(after_help = "Examples:\n  kiosque serve --data /srv/kiosque\n  \
        kiosque serve --data /srv/kiosque --listen 0.0.0.0:8443 \
        --tls-cert chain.pem --tls-key key.pem\n\n\
        Without a certificate, a self-signed one is created in DIR/tls. A renewed certificate is \
        loaded within seconds, or at once on SIGHUP. \
        On SIGTERM and SIGINT the server finishes open requests and exits.")]
    Serve,
    /// Forward the calls of integrators to a server, and inject faults into answers.
    #[command(after_help = format!("{FAULT_PROXY_HELP}\n\n{}", kiosque_faults::reference()))]
    FaultProxy(FaultProxyArgs),
    /// Check a server against the rules of the interface.
    #[command(after_help = CHECK_HELP)]
    Check(CheckArgs),
    /// Create data without entries, in the platform's time zone.
    #[command(after_help = "Examples:\n  \
        kiosque init --timezone Europe/Paris --data /srv/kiosque\n  \
        kiosque init --timezone Europe/Paris --store postgres://kiosque@db1,db2/kiosque\n\n\
        `apply` and `demo` create data as well, `restore` restores a backup into a new directory, \
        and `move` fills an empty database; all other commands refuse a place without data. The \
        directory and its files are private to the user who runs the command. Data in the same \
        time zone is not changed.")]
    Init,
    /// Create or change groups, accounts, products and devices.
    #[command(after_help = "Examples:\n  kiosque apply fleet.toml --data /srv/kiosque\n\n\
        Creates or changes the entries of the file; all others are unchanged. If there \
        is no data yet, it is created, in the time zone of --timezone. \
        If the file has errors, they are printed and nothing is applied. \
        With --dry-run, each entry that would change is printed, with its fields.")]
    Apply {
        /// Fleet file, .toml or .json.
        fleet: PathBuf,
        #[command(flatten)]
        dry_run: DryRun,
    },
    /// Import orders or exchange rates, or list the imports.
    #[command(subcommand)]
    Import(ImportWhat),
    /// Print totals, sizes, the certificate's expiry and the running servers.
    #[command(after_help = "Examples:\n  kiosque status --data /srv/kiosque\n  \
        kiosque status --output json --data /srv/kiosque\n\n\
        The server may run meanwhile. Its heartbeats of the last seconds are not in the data yet.")]
    Status(Output),
    /// List groups.
    #[command(subcommand)]
    Group(GroupWhat),
    /// List accounts.
    #[command(subcommand)]
    Account(AccountWhat),
    /// List devices, show one in detail, or delete one without orders.
    #[command(subcommand)]
    Device(DeviceWhat),
    /// List products.
    #[command(subcommand)]
    Product(ProductWhat),
    /// List sessions, or end one.
    #[command(subcommand)]
    Session(SessionWhat),
    /// List exchange rates.
    #[command(subcommand)]
    Rates(RatesWhat),
    /// Print the audit trail, newest entry first.
    #[command(after_help = "Examples:\n  kiosque audit --data /srv/kiosque\n  \
        kiosque audit --since 2026-01-01 --event loginRefused --data /srv/kiosque\n  \
        kiosque audit --account acme --output json --data /srv/kiosque")]
    Audit(AuditArgs),
    /// Export the fleet.
    #[command(subcommand)]
    Fleet(FleetWhat),
    /// Export orders.
    #[command(subcommand)]
    Orders(OrdersWhat),
    /// Archive old orders: order lists only show them with includeHistory.
    #[command(
        after_help = "Examples:\n  kiosque archive --before 2026-01-01 --data /srv/kiosque\n  \
        kiosque archive --before 2026-01-01T00:00:00+01:00 --dry-run --data /srv/kiosque\n  \
        kiosque archive --before 2025-06-01 --yes --data /srv/kiosque\n\n\
        May run while the server runs. Order details and dashboards still show archived orders. \
        A time earlier than the last one makes archived orders current again; that needs --yes. A \
        server with --archive-after archives them again within the hour if they are old enough."
    )]
    Archive(ArchiveArgs),
    /// Recompute stored counts and sums, and print all differences.
    #[command(after_help = "Examples:\n  kiosque verify --data /srv/kiosque\n\n\
        Everything is recomputed from the orders. The server may run meanwhile. \
        The exit status is 1 if there is a difference.")]
    Verify,
    /// Write a consistent copy of the data to a file, while the server runs.
    #[command(
        after_help = "Examples:\n  kiosque backup /backups/monday.db --data /srv/kiosque\n  \
        kiosque backup /backups --keep 14 --data /srv/kiosque\n\n\
        The file must not exist. It appears when it is complete, and only its owner may read it. \
        With --keep, its name has the time in UTC, such as kiosque-20261122T023000.000Z.db, and \
        older backups of the same data are removed once it is complete; other files remain. \
        Damaged data is not backed up. To restore a backup, use kiosque restore. \
        The certificate is not included: it is in DIR/tls."
    )]
    Backup {
        /// File to create; with --keep, the directory in which to create it.
        file: PathBuf,
        /// Name the file by the time, and remove older backups of the data in the directory until N
        /// remain.
        #[arg(long, value_name = "N", value_parser = from_one)]
        keep: Option<NonZeroUsize>,
    },
    /// Restore a backup to the data directory, and move the old data aside.
    #[command(
        after_help = "Examples:\n  kiosque restore /backups/monday.db --data /srv/kiosque\n\n\
        Stop the server first. A copy of the file is verified, as kiosque verify does; then the \
        old files move to a directory in DIR, such as replaced-20261122T023000.000Z, and the copy \
        takes their place. To undo the restore, move the old files back. A damaged file is not \
        restored."
    )]
    Restore {
        /// Backup to restore.
        file: PathBuf,
        #[command(flatten)]
        dry_run: DryRun,
    },
    /// Move the data of a directory to a PostgreSQL database, including sessions.
    #[command(after_help = "Examples:\n  \
        kiosque move --data /srv/kiosque --store postgres://kiosque@db1,db2/kiosque\n\n\
        Stop the server first; the database must be empty. An interrupted move begins again when \
        the command is repeated. At the end, row counts and digests of every table are compared, \
        group by group; from then on no command opens the directory. \
        With --dry-run, the target is checked and the rows of each table are counted.")]
    Move(DryRun),
    /// Print SQL statements to run on a database.
    #[command(after_help = "Examples:\n  kiosque schema --citus | psql -h coordinator kiosque\n\n\
        For a Citus cluster: create the tables with `kiosque init --timezone ZONE --store URL`, \
        then distribute them with these statements while they are small.")]
    Schema {
        /// Statements that distribute the tables over the workers of a Citus cluster.
        #[arg(long)]
        citus: bool,
    },
    /// Create, list and revoke keys for the operator's calls.
    #[command(subcommand)]
    OperatorKey(KeyWhat),
    /// Print a link that signs in to the console, once and within a minute.
    #[command(after_help = "Examples:\n  \
        kiosque console-link --key-name office --data /srv/kiosque\n  \
        kiosque console-link --key-name office --server https://ops.example.com --data /srv/kiosque\
        \n\nOnly the link is printed on standard output. It opens a page with a button, which \
        signs in with the rights of the key; a link preview in a messenger does not use it up.")]
    ConsoleLink(ConsoleLinkArgs),
    /// Share one session of an account among any number of workers on this machine.
    #[command(after_help = BROKER_HELP)]
    Broker(Box<BrokerArgs>),
    /// Use a server as an integrator: devices, orders and sales of an account.
    #[command(subcommand, after_help = examples::remote::REMOTE)]
    Remote(RemoteWhat),
    /// Work with settings files.
    #[command(subcommand)]
    Config(ConfigWhat),
    /// Print the completion script of a shell.
    #[command(after_help = "Examples:\n  \
        kiosque completions bash > /usr/share/bash-completion/completions/kiosque\n  \
        kiosque completions zsh > /usr/local/share/zsh/site-functions/_kiosque\n  \
        kiosque completions fish > ~/.config/fish/completions/kiosque.fish")]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write the manual pages, one for each command.
    #[command(after_help = "Examples:\n  kiosque man /usr/local/share/man/man1")]
    Man {
        /// Directory to write to; it is created if it does not exist.
        directory: PathBuf,
    },
    /// Print the OpenAPI document of the interface.
    #[command(after_help = "Examples:\n  kiosque openapi > openapi.json\n  \
                            kiosque openapi --server https://kiosque.example.com/v8\n  \
                            kiosque openapi --operator > openapi-operator.json")]
    Openapi {
        /// Print the document of the operator's calls instead of the integrators' calls.
        #[arg(long)]
        operator: bool,
        /// Base URL of the service, for generated clients; by default the address of a server
        /// on this machine. It ends with /v8, without --operator.
        #[arg(long, value_name = "URL")]
        server: Option<String>,
    },
}

/// The commands on settings files.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigWhat {
    /// Print a settings file with every key, its meaning and its default.
    #[command(after_help = "Examples:\n  kiosque config print > kiosque.toml\n\n\
        Every key is commented out, so that the file changes nothing until it is edited.")]
    Print,
}

/// The kinds of imports.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportWhat {
    /// Import orders from NDJSON, or from a CSV sales report with a mapping.
    #[command(
        after_help = "Examples:\n  kiosque import orders orders.ndjson --data /srv/kiosque\n  \
        zcat orders.ndjson.gz | kiosque import orders - --data /srv/kiosque\n  \
        kiosque import orders report.csv --map mapping.toml --data /srv/kiosque\n\n\
        May be repeated, and may run while the server runs. Invalid lines are printed, and written \
        to FILE.rejected.ndjson with the reason, or invalid rows of a report to FILE.rejected.csv; \
        all others are imported. An existing file of that name is renamed; one that --rejected \
        names is an error. For standard input, FILE is stdin. The exit status is 1 if a line was \
        rejected. With --dry-run, no file is written, and further results are printed: dates, \
        totals, devices and products that would be created, and the first orders as integrators \
        would see them."
    )]
    Orders(OrderImport),
    /// Import exchange rates from CSV with the columns date, currency, usd_per_unit.
    #[command(after_help = "Examples:\n  kiosque import rates rates.csv --data /srv/kiosque\n\n\
        A rate is valid from its date until the next one of its currency. Dashboards use it \
        immediately, also for sales already stored. A rate of the same date and currency is \
        replaced. If the file has errors, they are printed and nothing is imported.")]
    Rates {
        /// Input file.
        file: PathBuf,
        #[command(flatten)]
        dry_run: DryRun,
    },
    /// List the imports, the last one first: user, files, and counts by group.
    #[command(after_help = list_examples("import list"))]
    List(Output),
}

/// The arguments of an import of orders.
#[derive(Args, Debug)]
pub(crate) struct OrderImport {
    /// Input file, or - for standard input.
    pub(crate) file: PathBuf,
    /// Mapping from the columns of a CSV report to orders.
    #[arg(long, value_name = "MAP.toml")]
    pub(crate) map: Option<PathBuf>,
    /// File to create for the rejected lines or rows [default: FILE.rejected.ndjson or .csv].
    #[arg(long, value_name = "FILE")]
    pub(crate) rejected: Option<PathBuf>,
    /// Reject orders with unknown keys and a last line without a line end, and refuse an empty
    /// file.
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) dry_run: DryRun,
}

impl Command {
    /// Returns whether to print the time that the command took at its end.
    pub(crate) fn is_timed(&self) -> bool {
        matches!(
            self,
            Command::Import(ImportWhat::Orders(_) | ImportWhat::Rates { .. })
                | Command::Apply { .. }
                | Command::Archive { .. }
                | Command::Backup { .. }
                | Command::Move(_)
                | Command::Restore { .. }
                | Command::Verify
        )
    }
}

impl Cli {
    /// Parses the arguments of the process. If they are invalid, or request help, the process
    /// exits.
    pub(crate) fn parse_arguments() -> (Cli, Given) {
        let matches = Cli::described().try_get_matches();
        let matches = matches.unwrap_or_else(|error| exit(suggesting(error)));
        let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| exit(error));
        (cli, Given::by_command(&matches))
    }

    /// Returns the description of the command line: the help of a command shows the flags that it
    /// uses.
    pub(crate) fn described() -> clap::Command {
        own_flags::show_used(Cli::command().next_display_order(1).args(settings::common_flags()))
    }

    /// Returns the settings file. Commands that use no setting have none, and work even if the file
    /// in the environment is invalid or unreadable.
    pub(crate) fn config_file(&self) -> Option<&Path> {
        match self.command {
            Command::Check(_)
            | Command::Config(_)
            | Command::Remote(_)
            | Command::Completions { .. }
            | Command::Man { .. }
            | Command::Schema { .. }
            | Command::Openapi { .. } => None,
            _ => self.config.as_deref(),
        }
    }
}

/// Prints help, the version or an error of the arguments, and ends the process. Help that cannot be
/// written is a failure, unless its reader has closed the output.
fn exit(error: clap::Error) -> ! {
    let error = naming_variable(without_password(error));
    match error.print() {
        Err(cause) if !error.use_stderr() && cause.kind() != io::ErrorKind::BrokenPipe => {
            let cause = crate::without_error_numbers(cause.to_string());
            eprint_line!("kiosque: {CANNOT_WRITE}: {cause}");
            process::exit(1)
        }
        _ => process::exit(error.exit_code()),
    }
}

/// Names the environment variable instead of the flag of an invalid value that it has.
fn naming_variable(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg)
        && let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue)
        && let Some((flag, _)) = shown.split_once(' ')
    {
        let variable = variable_named(&flag.trim_start_matches('-').replace('-', "_"));
        if std::env::var(&variable).is_ok_and(|given| given == *value) {
            error.insert(ContextKind::InvalidArg, ContextValue::String(variable));
        }
    }
    error
}

/// Replaces the user name and the password of a URL that an error quotes.
fn without_password(mut error: clap::Error) -> clap::Error {
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg] {
        if let Some(ContextValue::String(quoted)) = error.get(kind)
            && quoted.contains("://")
        {
            let shown = ContextValue::String(without_user_info(quoted));
            error.insert(kind, shown);
        }
    }
    error
}

/// Suggests the commands that have the given name as a subcommand: `device list` for `list`. By
/// spelling alone, `import` would be suggested for `export`.
fn suggesting(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let command = Cli::command();
    let nouns = command.get_subcommands().filter(|noun| noun.get_name() != "remote");
    let meant = nouns.filter(|noun| noun.find_subcommand(typed).is_some());
    let meant: Vec<String> = meant.map(|noun| format!("{} {typed}", noun.get_name())).collect();
    if !meant.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(meant));
    }
    error
}
/// Parses a number from 1.
fn from_one(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number from 1"))
}
