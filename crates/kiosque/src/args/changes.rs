//! The arguments of commands that change many things at once, and have a dry run.

use clap::Args;
use kiosque_store::Changes;

/// The flag of commands that have a dry run.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct DryRun {
    /// Print what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

impl DryRun {
    /// Returns whether changes are stored.
    pub(crate) fn changes(self) -> Changes {
        if self.dry_run { Changes::RolledBack } else { Changes::Stored }
    }
}

/// The arguments of `kiosque archive`.
#[derive(Args, Debug)]
pub(crate) struct ArchiveArgs {
    /// Archive orders that started before this: RFC 3339, or a date or yyyy-MM-dd HH:mm:ss in the
    /// platform's time zone. It must not be in the future.
    #[arg(long, value_name = "TIME")]
    pub(crate) before: String,
    /// Make orders current again that an earlier time no longer archives.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) dry_run: DryRun,
}
