//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use kiosque_model::Rights;

use crate::schema::Schema;
use crate::settings::{CONFIG_VARIABLE, CommonFlags, Given, ServeFlags};

const EXAMPLES: &str = "\
Examples:
  kiosque demo                                       a believable fleet, served, with calls to paste
  kiosque apply fleet.toml --data /srv/kiosque       groups, accounts, products, devices
  kiosque import orders orders.ndjson --data /srv/kiosque
  kiosque import orders report.csv --map mapping.toml --data /srv/kiosque
  kiosque serve --data /srv/kiosque --listen 0.0.0.0:8443

Every setting is a flag, a key of the configuration file (--config FILE, without the dashes in \
front and with underscores inside), and a KIOSQUE_ variable; a flag goes before a variable, and \
that before the file.";

/// The device and order query service of a vending-kiosk platform.
#[derive(Debug, Parser)]
#[command(name = "kiosque", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    /// Read settings from this TOML file; unknown keys are errors.
    #[arg(long, global = true, value_name = "FILE", env = CONFIG_VARIABLE)]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    common: CommonFlags,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a believable fleet, and print calls to paste.
    #[command(after_help = "Examples:\n  kiosque demo\n  \
        kiosque demo --listen 127.0.0.1:9443 --data /srv/demo --today 2026-03-31")]
    Demo {
        /// The last day of its orders [default: today].
        #[arg(long, value_name = "DATE")]
        today: Option<jiff::civil::Date>,
        #[command(flatten)]
        serve: ServeFlags,
    },
    /// Serve the interface over HTTPS.
    #[command(after_help = "Examples:\n  kiosque serve --data /srv/kiosque\n  \
        kiosque serve --data /srv/kiosque --listen 0.0.0.0:8443 \
        --tls-cert chain.pem --tls-key key.pem\n\n\
        Without a certificate, a self-signed one is made in DIR/tls. A certificate that is renewed \
        is taken up by itself, or at once on SIGHUP. \
        SIGTERM and SIGINT stop it once what is under way has been answered.")]
    Serve {
        #[command(flatten)]
        serve: ServeFlags,
    },
    /// Create or change groups, accounts, products and devices.
    #[command(after_help = "Examples:\n  kiosque apply fleet.toml --data /srv/kiosque\n\n\
        What is named is created or changed, what is not named stays. \
        A fault anywhere names its entry, and nothing is applied.")]
    Apply {
        /// A fleet, .toml or .json.
        fleet: PathBuf,
    },
    /// Bring in what happened elsewhere.
    Import {
        #[command(subcommand)]
        what: ImportWhat,
    },
    /// Make history of old orders: only includeHistory lists them afterwards.
    #[command(
        after_help = "Examples:\n  kiosque archive --before 2026-01-01 --data /srv/kiosque\n  \
        kiosque archive --before 2026-01-01T00:00:00+01:00 --data /srv/kiosque\n\n\
        May run beside the server. Order details and dashboards show history as before; \
        nothing brings an order back from history."
    )]
    Archive {
        /// Orders that started before this: RFC 3339, or a date or yyyy-MM-dd HH:mm:ss in the
        /// platform's zone.
        #[arg(long, value_name = "TIME")]
        before: String,
    },
    /// Recount what is kept as a count or a sum, and name each difference.
    #[command(after_help = "Examples:\n  kiosque verify --data /srv/kiosque\n\n\
        Everything is recounted from the orders themselves; a server may run beside it. \
        The exit status is 1 if there is a difference.")]
    Verify,
    /// Copy the data to a file, consistently, beside a running server.
    #[command(
        after_help = "Examples:\n  kiosque backup /backups/monday.db --data /srv/kiosque\n\n\
        The file must not exist yet; it appears when it is whole, and only its owner may read it. \
        To restore it, make it the file kiosque.db of a folder that holds no other data. \
        The certificate is not in it: it is in DIR/tls."
    )]
    Backup {
        /// The file to make.
        file: PathBuf,
    },
    /// Take the data of a folder over into a PostgreSQL, sessions included.
    #[command(after_help = "Examples:\n  \
        kiosque move --data /srv/kiosque --store postgres://kiosque@db1,db2/kiosque\n\n\
        Stop the server first; the database must be empty. A move that was interrupted goes on \
        where it was when it is repeated. At the end every table is counted and digested on both \
        sides, group by group; from then on the folder is not opened any more.")]
    Move,
    /// Print what the layout of the data needs elsewhere.
    #[command(after_help = "Examples:\n  kiosque schema --citus | psql -h coordinator kiosque\n\n\
        For a Citus cluster: first let `kiosque apply --store URL` make the tables, then \
        distribute them with these statements, while they are small.")]
    Schema(Schema),
    /// Create, list and revoke the keys that the operator's calls take.
    OperatorKey {
        #[command(subcommand)]
        what: KeyWhat,
    },
    /// Print the OpenAPI document of the interface.
    #[command(after_help = "Examples:\n  kiosque openapi > openapi.json")]
    Openapi,
}

/// What to do with a key.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyWhat {
    /// Print a new key, once; only its digest is kept.
    #[command(after_help = "Examples:\n  \
        kiosque operator-key create tills --data /srv/kiosque\n  \
        kiosque operator-key create tills --may orders,activity --data /srv/kiosque > tills.key\n\n\
        A server that runs knows the key at once. Send it as `Authorization: Bearer KEY`.")]
    Create {
        /// What to call it; a name that was revoked may be used again.
        name: String,
        /// What it may do, of orders, activity, fleet and audit [default: all of them].
        #[arg(long, value_name = "RIGHTS")]
        may: Option<Rights>,
    },
    /// List every key that there ever was, the oldest first.
    #[command(after_help = "Examples:\n  kiosque operator-key list --data /srv/kiosque\n  \
        kiosque operator-key list --json --data /srv/kiosque")]
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a key: it is refused from the next request on.
    #[command(after_help = "Examples:\n  \
        kiosque operator-key revoke tills --data /srv/kiosque")]
    Revoke {
        /// What it is called.
        name: String,
    },
}

/// What to import.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportWhat {
    /// Orders: NDJSON, or a CSV sales report through a mapping.
    #[command(
        after_help = "Examples:\n  kiosque import orders orders.ndjson --data /srv/kiosque\n  \
        zcat orders.ndjson.gz | kiosque import orders - --data /srv/kiosque\n  \
        kiosque import orders report.csv --map mapping.toml --data /srv/kiosque\n\n\
        May be repeated and may run beside the server. A line that is not valid is named, written \
        with its reason to FILE.rejected.ndjson, and the rest is kept; the exit status is then 1."
    )]
    Orders {
        /// The file, or - for standard input.
        file: PathBuf,
        /// How the columns of a CSV report become orders.
        #[arg(long, value_name = "MAP.toml")]
        map: Option<PathBuf>,
    },
    /// Exchange rates: CSV with the columns date, currency, usd_per_unit.
    #[command(after_help = "Examples:\n  kiosque import rates rates.csv --data /srv/kiosque\n\n\
        A rate holds from its date until the next one of its currency. It counts for dashboards \
        at once, for sales that are there already, too. A rate of the same date and currency is \
        replaced. A fault anywhere names its line, and nothing is imported.")]
    Rates {
        /// The file.
        file: PathBuf,
    },
}

impl Cli {
    /// Returns the settings that flags and variables give.
    pub(crate) fn given(&self) -> Given {
        let CommonFlags(common) = &self.common;
        match &self.command {
            Command::Demo { serve: ServeFlags(serve), .. }
            | Command::Serve { serve: ServeFlags(serve) } => common.clone().and(serve),
            _ => common.clone(),
        }
    }
}
