//! The shares of the stored requests. Each request belongs to one, and when there are too many, the
//! largest shares lose their oldest ones.

use std::collections::{BTreeMap, BinaryHeap};

use kiosque_model::{AccountNo, SourcePrefix, UnixMs};

use crate::db::{Read, Write};
use crate::error::Error;
use crate::sql::{Value, row, statements};

/// Rows that one batch deletes at most because of their age. A batch adds fewer.
const OLD_PER_BATCH: i64 = 2_000;
/// Rows that are read at a time to find them. Reading ends with the first ones that are not old.
const READ_AT_A_TIME: i64 = 50;
/// Rows that one batch deletes at most because there are too many.
const BEYOND_PER_BATCH: i64 = 2_000;
/// The shares of all sources without an account together. More sources than this share them, so
/// that a network of addresses has no more rows than so many accounts.
const SOURCE_SHARES: u64 = 64;

row! {
    struct ShareRow { share: String, requests: i64 }
    struct OldRow { number: i64, share: String, at_ms: UnixMs }
}

statements! {
    SHARES() -> ShareRow = "select name as share, last as requests from counters
        where name like '% %'";
    SET_SHARE() = "insert into counters (name, last)
        select r.share, r.requests from {rows r: share text, requests bigint} where true
        on conflict (name) do update set last = excluded.last";
    END_SHARES() = "delete from counters where name like '% %' and last = 0";
    OLDEST(count) -> OldRow = "select number, share, at_ms from refused_requests
        order by number limit $count";
    DELETE() = "delete from refused_requests using {rows r: number bigint}
        where refused_requests.number = r.number";
    DELETE_OLDEST(share, requests) = "delete from refused_requests where number in (
        select o.number from refused_requests o where o.share = $share
        order by o.number limit $requests)";
}

/// The share of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Share {
    /// Requests with a token of an account.
    Account(AccountNo),
    /// Refused logins with the name of an account: they cost it none of its own requests.
    Logins(AccountNo),
    /// All other requests of a source, and of those that share its part.
    Source(SourcePrefix),
}

impl Share {
    /// Returns the text that is stored.
    pub(super) fn text(self) -> String {
        match self {
            Share::Account(account) => format!("account {}", account.0),
            Share::Logins(account) => format!("logins {}", account.0),
            Share::Source(source) => format!("source {}", part(&source.to_string())),
        }
    }
}

/// Returns whether the requests of a share, as it is stored, have a proven account.
pub(super) fn is_proven(share: &str) -> bool {
    share.starts_with("account ")
}

/// Returns the part of a source, by FNV-1a: the same on every node.
fn part(source: &str) -> u64 {
    let hash = source.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) % SOURCE_SHARES
}

/// The number of stored requests of each share, in a transaction that has locked them.
pub(super) struct Stored {
    before: BTreeMap<String, i64>,
    requests: BTreeMap<String, i64>,
}

impl Stored {
    pub(super) async fn read(read: &Read<'_>) -> Result<Stored, Error> {
        let rows = read.all(&SHARES, &[], |row| row.read::<ShareRow>()).await?;
        let before: BTreeMap<String, i64> =
            rows.into_iter().map(|row| (row.share, row.requests)).collect();
        Ok(Stored { requests: before.clone(), before })
    }

    /// Counts a request that is added.
    pub(super) fn add(&mut self, share: &Share) {
        *self.requests.entry(share.text()).or_default() += 1;
    }

    fn subtract(&mut self, share: &str, requests: i64) {
        if let Some(stored) = self.requests.get_mut(share) {
            *stored = stored.saturating_sub(requests).max(0);
        }
    }

    /// Deletes some of the requests that arrived at or before a time, the oldest ones.
    pub(super) async fn delete_old(
        &mut self,
        write: &Write<'_>,
        until: UnixMs,
    ) -> Result<(), Error> {
        for _ in 0..OLD_PER_BATCH / READ_AT_A_TIME {
            let count = [READ_AT_A_TIME.into()];
            let mut old = write.all(&OLDEST, &count, |row| row.read::<OldRow>()).await?;
            let read = old.len();
            old.retain(|row| row.at_ms <= until);
            let numbers: Vec<[Value<'_>; 1]> = old.iter().map(|row| [row.number.into()]).collect();
            write.execute_each(&DELETE, numbers.iter(), &[]).await?;
            old.iter().for_each(|row| self.subtract(&row.share, 1));
            if old.is_empty() || old.len() < read {
                break;
            }
        }
        Ok(())
    }

    /// Deletes requests of some shares beyond a total, the oldest ones of the largest shares.
    pub(super) async fn delete_beyond(
        &mut self,
        write: &Write<'_>,
        most: i64,
        is_counted: impl Fn(&str) -> bool,
    ) -> Result<(), Error> {
        let counted = self.requests.iter().filter(|(share, _)| is_counted(share));
        let counted = counted.map(|(share, requests)| (share.clone(), *requests)).collect();
        for (share, requests) in beyond(&counted, most) {
            write.execute(&DELETE_OLDEST, &[share.as_str().into(), requests.into()]).await?;
            self.subtract(&share, requests);
        }
        Ok(())
    }

    /// Stores the numbers that have changed.
    pub(super) async fn write(self, write: &Write<'_>) -> Result<(), Error> {
        let changed =
            self.requests.iter().filter(|(share, now)| self.before.get(*share) != Some(*now));
        let changed: Vec<[Value<'_>; 2]> =
            changed.map(|(share, requests)| [share.as_str().into(), (*requests).into()]).collect();
        write.execute_each(&SET_SHARE, changed.iter(), &[]).await?;
        write.execute(&END_SHARES, &[]).await?;
        Ok(())
    }
}

/// Returns how many requests each share loses, so that at most `most` are left: always one of the
/// share that has the most.
fn beyond(shares: &BTreeMap<String, i64>, most: i64) -> BTreeMap<String, i64> {
    let total: i64 = shares.values().sum();
    let mut lost: BTreeMap<String, i64> = BTreeMap::new();
    let mut largest: BinaryHeap<(i64, &String)> =
        shares.iter().map(|(share, requests)| (*requests, share)).collect();
    for _ in 0..(total - most).clamp(0, BEYOND_PER_BATCH) {
        let Some((requests, share)) = largest.pop() else { break };
        *lost.entry(share.clone()).or_default() += 1;
        largest.push((requests - 1, share));
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(of: &[(&str, i64)]) -> BTreeMap<String, i64> {
        of.iter().map(|(share, requests)| ((*share).to_owned(), *requests)).collect()
    }

    #[test]
    fn the_largest_shares_lose_their_rows_until_they_are_equal() {
        let stored = shares(&[("noisy", 90), ("loud", 40), ("quiet", 5)]);
        assert_eq!(beyond(&stored, 135), shares(&[]));
        assert_eq!(beyond(&stored, 100), shares(&[("noisy", 35)]));
        assert_eq!(beyond(&stored, 65), shares(&[("loud", 10), ("noisy", 60)]));
        assert_eq!(beyond(&stored, 0), shares(&[("loud", 40), ("noisy", 90), ("quiet", 5)]));
    }

    #[test]
    fn sources_have_a_bounded_number_of_shares() {
        let parts: std::collections::BTreeSet<u64> =
            (0..4_000).map(|at| part(&format!("192.0.{}.{}", at / 250, at % 250))).collect();
        assert_eq!(u64::try_from(parts.len()).ok(), Some(SOURCE_SHARES));
    }
}
