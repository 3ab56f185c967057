//! The commands that list and export the stored data.

use clap::{Args, Subcommand, ValueEnum};

use crate::output::Output;

/// Returns the examples of a command that only lists.
pub(super) fn list_examples(command: &str) -> String {
    let data = "--data /srv/kiosque";
    format!("Examples:\n  kiosque {command} {data}\n  kiosque {command} --output json {data}")
}

/// The commands on groups.
#[derive(Debug, Subcommand)]
pub(crate) enum GroupWhat {
    /// List all groups with the numbers of their devices, accounts and orders.
    #[command(after_help = list_examples("group list"))]
    List(Output),
}

/// The commands on accounts.
#[derive(Debug, Subcommand)]
pub(crate) enum AccountWhat {
    /// List all accounts with their groups and the end of their sessions.
    #[command(after_help = list_examples("account list"))]
    List(Output),
}

/// The commands on products.
#[derive(Debug, Subcommand)]
pub(crate) enum ProductWhat {
    /// List all products; prices are in minor units.
    #[command(after_help = list_examples("product list"))]
    List(Output),
}

/// The commands on devices.
#[derive(Debug, Subcommand)]
pub(crate) enum DeviceWhat {
    /// List devices with their owners, orders and last activity.
    #[command(after_help = "Examples:\n  kiosque device list --data /srv/kiosque\n  \
        kiosque device list --group north --output json --data /srv/kiosque\n\n\
        The last activity is the last order or heartbeat. A running server writes \
        heartbeats every few seconds (--activity-flush).")]
    List {
        /// Only the devices that this group owns now.
        #[arg(long, value_name = "ID")]
        group: Option<String>,
        #[command(flatten)]
        output: Output,
    },
    /// Show a device: its owners by date, its orders by owner, its aisles.
    #[command(after_help = "Examples:\n  kiosque device show K-001 --data /srv/kiosque\n  \
        kiosque device show K-001 --output json --data /srv/kiosque")]
    Show {
        /// Code of the device.
        code: String,
        #[command(flatten)]
        output: Output,
    },
    /// Delete a device that has no orders, such as one that was created by mistake.
    #[command(after_help = "Examples:\n  kiosque device delete K-0O1 --data /srv/kiosque\n  \
        kiosque device delete K-0O1 --yes --data /srv/kiosque\n\n\
        Its aisles and its owners are deleted with it. A device with orders is refused: they stay \
        with their groups. To hide it, apply `enabled = false`. The audit trail records it.")]
    Delete {
        /// Code of the device.
        code: String,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
}

/// The commands on the fleet.
#[derive(Debug, Subcommand)]
pub(crate) enum FleetWhat {
    /// Print the fleet as a fleet file, with the hashes of passwords.
    #[command(after_help = "Examples:\n  \
        kiosque fleet export --data /srv/kiosque > fleet.toml\n  \
        kiosque fleet export --output json --data /srv/kiosque > fleet.json\n\n\
        Applying the file changes nothing. A device only has its last owner: earlier \
        owners, sessions, keys and orders are in a backup.")]
    Export {
        /// Format of the file.
        #[arg(long, value_name = "FORMAT", default_value = "toml")]
        output: FleetFormat,
    },
}

/// The formats of a fleet file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FleetFormat {
    Toml,
    Json,
}

/// The commands on orders.
#[derive(Debug, Subcommand)]
pub(crate) enum OrdersWhat {
    /// Print orders as an order file, including archived ones.
    #[command(after_help = "Examples:\n  \
        kiosque orders export --data /srv/kiosque > orders.ndjson\n  \
        kiosque orders export --group north --since 2026-01-01 --data /srv/kiosque\n  \
        kiosque orders export --shipment failed,partial --data /srv/kiosque\n  \
        kiosque orders export --output csv --data /srv/kiosque > orders.csv\n  \
        kiosque orders export --print-mapping > mapping.toml\n\n\
        Importing the file changes nothing; a CSV file needs the mapping. Card \
        and phone numbers are masked. An order that arrives meanwhile may be missing.")]
    Export(OrderExport),
}

/// The arguments of an export of orders.
#[derive(Args, Debug)]
pub(crate) struct OrderExport {
    /// Format of the file: one JSON object for each order, or CSV with a row for each line.
    #[arg(long, value_name = "FORMAT", default_value = "ndjson")]
    pub(crate) output: OrderFormat,
    /// Only orders of this group.
    #[arg(long, value_name = "ID")]
    pub(crate) group: Option<String>,
    /// Only orders of this device.
    #[arg(long, value_name = "CODE")]
    pub(crate) device: Option<String>,
    /// Only orders with one of these shipment states: none, success, in progress, failed, partial.
    #[arg(long, value_name = "STATE,…")]
    pub(crate) shipment: Option<String>,
    /// Only orders with one of these payment states: unpaid, paid, cancelled, refunding, refunded.
    #[arg(long, value_name = "STATE,…")]
    pub(crate) payment: Option<String>,
    /// Only orders that started at this time or later: RFC 3339, or a date or yyyy-MM-dd HH:mm:ss
    /// in the platform's time zone.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only orders that started before this time.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only print the mapping with which `kiosque import orders` reads the CSV.
    #[arg(long)]
    pub(crate) print_mapping: bool,
}

/// The formats of an order file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderFormat {
    Ndjson,
    Csv,
}

/// The commands on sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionWhat {
    /// List all live sessions; an account has at most one.
    #[command(after_help = list_examples("session list"))]
    List(Output),
    /// End the session of an account; it may log in again.
    #[command(after_help = "Examples:\n  kiosque session end acme --data /srv/kiosque\n\n\
        A running server refuses the token from the next request on. The audit trail records it.")]
    End {
        /// Login name of the account.
        account: String,
    },
}

/// The commands on exchange rates.
#[derive(Debug, Subcommand)]
pub(crate) enum RatesWhat {
    /// List all exchange rates, by currency and date.
    #[command(after_help = list_examples("rates list"))]
    List(Output),
}

/// The arguments of `kiosque audit`.
#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    /// Only entries of this time or later: RFC 3339, or a date or yyyy-MM-dd HH:mm:ss in the
    /// platform's time zone.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only entries of this event, such as loginRefused.
    #[arg(long, value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// Only entries of this login name.
    #[arg(long, value_name = "NAME")]
    pub(crate) account: Option<String>,
    /// Only entries of this source address.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) source: Option<String>,
    /// The largest number of entries.
    #[arg(long, value_name = "N", default_value = "100")]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) output: Output,
}
