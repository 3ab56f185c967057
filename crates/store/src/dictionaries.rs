//! The dictionaries of the data. The first one is trained from the data's own orders once there are
//! some thousands; later records are packed with it.
//!
//! A stored dictionary is never changed or deleted. Another process may store one at any time, and
//! a snapshot with a record also has the record's dictionary: so a read of records loads the
//! dictionaries of its snapshot that are new to the process, or runs again after it found one
//! missing. A dictionary contains texts of orders of all groups, such as names of products, but no
//! card or phone numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::record::dictionaries::{Dictionaries, Dictionary, train};
use crate::record::stored::{StoredOrder, order_columns};
use crate::record::without_personal_data;
use crate::sql::{Row, statements};
use crate::state::State;

statements! {
    NUMBERS() -> i64 = "select dictionary_no from dictionaries order by dictionary_no";
    CONTENT(dictionary_no) -> &[u8] = "select content from dictionaries
        where dictionary_no = $dictionary_no";
    ADD(dictionary_no, content) = "insert into dictionaries (dictionary_no, content)
        values ($dictionary_no, $content) on conflict (dictionary_no) do nothing";
    CHANGES() -> i64 = "select cast(coalesce(sum(last_change_no), 0) as bigint)
        from group_changes";
    /// The order of every `$step`-th change of each group.
    SAMPLES(step) -> StoredOrder<'_> = concat!(
        "select ", order_columns!(), "
        from orders o where o.change_no % $step = 0
        order by o.group_no, o.change_no");
}

/// The number of order changes after which a dictionary is trained.
const TRAINED_AFTER: i64 = 4_000;
/// The number of changes from whose orders it is trained; at most twice as many.
const SAMPLES_MIN: i64 = 2_000;

/// Counts orders that were packed with dictionary 0. `left` is the number of further ones before
/// this process checks whether to train another. Returns whether to check now; other callers
/// continue meanwhile.
fn is_due(left: &AtomicI64, packed: i64) -> bool {
    let now_left = left.fetch_sub(packed, Ordering::Relaxed).saturating_sub(packed);
    now_left <= 0 && left.swap(TRAINED_AFTER, Ordering::Relaxed) <= 0
}

/// Loads the dictionaries of a snapshot that are new to the process. Returns the one to pack
/// records with, if any.
pub(crate) async fn load<'d>(
    read: &Read<'_>,
    dictionaries: &'d Dictionaries,
) -> Result<Option<&'d Dictionary>, Error> {
    let mut first = None;
    for stored in read.all::<i64>(&NUMBERS, &[]).await? {
        let Ok(number) = u32::try_from(stored) else { continue };
        if dictionaries.get(number).is_none() {
            let add = |row: &Row<'_>| {
                dictionaries.add(number, row.read()?);
                Ok(())
            };
            read.each(&CONTENT, &[stored.into()], add).await?;
        }
        first = first.or_else(|| dictionaries.get(number));
    }
    Ok(first)
}

/// Returns the numbers of the stored dictionaries that are damaged.
pub(crate) async fn damaged(read: &Read<'_>) -> Result<Vec<i64>, Error> {
    let dictionaries = Dictionaries::default();
    load(read, &dictionaries).await?;
    let mut numbers = read.all::<i64>(&NUMBERS, &[]).await?;
    let is_known = |number: i64| Some(dictionaries.get(u32::try_from(number).ok()?).is_some());
    numbers.retain(|number| is_known(*number) != Some(true));
    Ok(numbers)
}

/// Reads records from one snapshot, with its dictionaries.
pub(crate) async fn read_records<T, E>(
    state: &State,
    ask: impl AsyncFnOnce(&Read<'_>, &Arc<Dictionaries>) -> Result<T, E> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let dictionaries = Arc::clone(&state.dictionaries);
    let read = async move |read: &Read<'_>| {
        load(read, &dictionaries).await?;
        ask(read, &dictionaries).await
    };
    state.db.read(Deadline::OfRequest, read).await
}

/// Loads the dictionaries that other processes have stored.
pub(crate) async fn load_dictionaries(state: &State) -> Result<(), Error> {
    read_records(state, async |_, _| Ok(())).await
}

/// Trains the dictionary of the data if it has none and is large enough, after orders were packed
/// with dictionary 0. Orders can be stored and read without one: after a failure, training is
/// retried after further orders.
pub(crate) async fn train_if_due(state: &State, packed: i64) {
    if !state.db.is_dry_run() && is_due(&state.training, packed) {
        let _ = train_from_orders(state).await;
    }
}

async fn train_from_orders(state: &State) -> Result<(), Error> {
    let training = Arc::clone(&state.training);
    let sample = async move |read: &Read<'_>, dictionaries: &Arc<Dictionaries>| {
        samples(read, dictionaries, &training).await
    };
    let samples = read_records(state, sample).await?;
    let trained = tokio::task::spawn_blocking(move || train(&samples)).await;
    let Some((number, content)) = trained.map_err(|_| Error::Gone)? else { return Ok(()) };
    let add = async move |write: &Write<'_>| {
        if has_dictionary(write).await? {
            return Ok(());
        }
        let row = [i64::from(number).into(), content.as_slice().into()];
        write.execute(&ADD, &row).await.map(|_| ())
    };
    state.db.write(Deadline::OfRequest, add).await
}

async fn has_dictionary(read: &Read<'_>) -> Result<bool, Error> {
    Ok(read.one::<i64>(&NUMBERS, &[]).await?.is_some())
}

/// Returns the texts to train a dictionary from; none if the data has a dictionary, or too few
/// orders.
async fn samples(
    read: &Read<'_>,
    dictionaries: &Dictionaries,
    packed_left: &AtomicI64,
) -> Result<Vec<String>, Error> {
    if has_dictionary(read).await? {
        return Ok(Vec::new());
    }
    let changes = read.one::<i64>(&CHANGES, &[]).await?.unwrap_or(0);
    if changes < TRAINED_AFTER {
        packed_left.store(TRAINED_AFTER - changes, Ordering::Relaxed);
        return Ok(Vec::new());
    }
    let mut texts = Vec::new();
    read.each(&SAMPLES, &[(changes / SAMPLES_MIN).into()], |row| {
        let order: StoredOrder<'_> = row.read()?;
        texts.push(without_personal_data(&order.text(dictionaries)?)?);
        Ok(())
    })
    .await?;
    Ok(texts)
}
