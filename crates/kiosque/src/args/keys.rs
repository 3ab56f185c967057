//! The arguments of the commands on keys.

use clap::Subcommand;
use kiosque_model::Rights;

use super::lists::list_examples;
use crate::output::Output;

/// The commands on keys.
#[derive(Debug, Subcommand)]
pub(crate) enum KeyWhat {
    /// Create a key and print it, once; only its digest is stored.
    #[command(after_help = "Examples:\n  \
        kiosque operator-key create tills --data /srv/kiosque\n  \
        kiosque operator-key create tills --may orders,activity --data /srv/kiosque > tills.key\n\n\
        A running server accepts the key at once. Send it as `Authorization: Bearer KEY`, or sign \
        in to the console with it.")]
    Create {
        /// Name of the key; the name of a revoked key may be used again.
        name: String,
        /// Rights of the key: orders, activity, fleet, audit, read and keys [default: all].
        #[arg(long, value_name = "RIGHTS")]
        may: Option<Rights>,
    },
    /// List all keys, including revoked ones, oldest first.
    #[command(after_help = list_examples("operator-key list"))]
    List {
        /// The same as --output json.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Revoke a key: it is refused from the next request on.
    #[command(after_help = "Examples:\n  \
        kiosque operator-key revoke tills --data /srv/kiosque")]
    Revoke {
        /// Name of the key.
        name: String,
    },
}
