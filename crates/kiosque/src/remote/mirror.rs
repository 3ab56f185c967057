//! `kiosque remote mirror`

use std::io::{self, Write};
use std::time::{Duration, Instant};

use kiosque_remote::{CommandError, Mirror, Remote};

use super::{open, repeat};
use crate::args::MirrorArgs;

/// The time after which the copy is compared with the server again.
const COMPARISON_INTERVAL: Duration = Duration::from_mins(10);

/// Copies the changes in each round.
pub(super) async fn run(args: MirrorArgs) -> Result<(), CommandError> {
    let remote = open(&args.access)?;
    let mut mirror = Mirror::open(&remote, &args.into)?;
    let mut compared: Option<Instant> = None;
    repeat(args.watch, async |_| {
        if compared.is_some_and(|at| at.elapsed() < COMPARISON_INTERVAL) {
            match mirror.follow(&remote).await {
                // The groups of the account may have changed.
                Err(CommandError::Refused(_)) => {}
                done => return done,
            }
        }
        compare(&mut mirror, &remote, &args).await?;
        compared = Some(Instant::now());
        Ok(())
    })
    .await
}

/// Completes the copy, and prints the certificate of each group.
async fn compare(
    mirror: &mut Mirror,
    remote: &Remote,
    args: &MirrorArgs,
) -> Result<(), CommandError> {
    let groups = mirror.complete(remote).await?;
    let mut out = io::stdout().lock();
    for group in &groups {
        writeln!(out, "{group}")?;
    }
    match groups.iter().any(|group| group.differs()) {
        true => Err(CommandError::Differs(args.into.clone())),
        false => Ok(()),
    }
}
