//! Compares the counters with the numbers that were taken from them.

use super::Verified;
use crate::db::Read;
use crate::error::Error;
use crate::metadata;
use crate::sql::{row, statements};

row! {
    #[derive(Default)]
    struct Arrivals { count: i64, first: i64, last: i64 }
}

statements! {
    ARRIVALS() -> Arrivals = "select count(*) as count, coalesce(min(arrival_no), 0) as first,
            coalesce(max(arrival_no), 0) as last
        from arrivals";
    LAST_ENTRY() -> i64 = "select coalesce(max(entry_no), 0) from audit";
    LAST_REFUSED_REQUEST() -> i64 = "select coalesce(max(number), 0) from refused_requests";
}

/// Checks that no counter is behind a number that was taken from it, and that no arrival is missing
/// after the first: only the oldest are ever deleted. `last_arrival` is the last one with orders.
pub(super) async fn check(
    read: &Read<'_>,
    last_arrival: i64,
    found: &mut Verified,
) -> Result<(), Error> {
    let arrivals: Arrivals = read.one(&ARRIVALS, &[]).await?.unwrap_or_default();
    let last = arrivals.last.max(metadata::last(read, metadata::ARRIVALS).await?);
    let Arrivals { count, first, .. } = arrivals;
    if count > 0 && count != last - first + 1 {
        found
            .differences
            .push(format!("arrivals {first} to {last} have numbers, {count} are stored"));
    }
    for (counter, highest) in [
        (metadata::ARRIVALS, arrivals.last.max(last_arrival)),
        (metadata::AUDIT, read.one(&LAST_ENTRY, &[]).await?.unwrap_or(0)),
        (metadata::REFUSED_REQUESTS, read.one(&LAST_REFUSED_REQUEST, &[]).await?.unwrap_or(0)),
    ] {
        let last = metadata::last(read, counter).await?;
        if highest > last {
            found.differences.push(format!(
                "counter {counter}: number {highest} is taken, the counter is at {last}"
            ));
        }
    }
    Ok(())
}
