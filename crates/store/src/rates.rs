//! Dated exchange rates: US dollars for one unit of a currency, valid from a day on.

use kiosque_model::sales::Rate;
use kiosque_model::{Currency, Day};

use crate::db::{Deadline, Write};
use crate::fleet::{ChangeCounts, EntryChange};
use crate::sql::statements;
use crate::{Error, Store, metadata, months};

statements! {
    STORED_RATE(currency, day) -> i64 = "select usd_per_unit_e12 from rates
        where currency = $currency and day = $day";
    SET_RATE(currency, day, usd_per_unit_e12) = "insert into rates (currency, day, usd_per_unit_e12)
        values ($currency, $day, $usd_per_unit_e12)
        on conflict (currency, day) do update set usd_per_unit_e12 = excluded.usd_per_unit_e12";
}

/// A rate that is valid from a day on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatedRate {
    /// The first day on which it is valid.
    pub day: Day,
    /// The currency that it converts.
    pub currency: Currency,
    /// Dollars for one unit of the currency.
    pub rate: Rate,
}

impl Store {
    /// Stores rates, all or nothing. A rate replaces a stored one of the same currency and day.
    ///
    /// # Errors
    /// The store failed.
    pub async fn set_rates(&self, rates: Vec<DatedRate>) -> Result<ChangeCounts, Error> {
        self.db.write(Deadline::None, async move |write: &Write<'_>| set(write, &rates).await).await
    }
}

async fn set(write: &Write<'_>, rates: &[DatedRate]) -> Result<ChangeCounts, Error> {
    metadata::rates_change(write).await?;
    let (mut counts, mut first_change) = (ChangeCounts::default(), None);
    for DatedRate { day, currency, rate } in rates {
        let key = [currency.code().into(), (*day).into()];
        let stored = write.one(&STORED_RATE, &key, |row| row.read::<i64>()).await?;
        write.execute(&SET_RATE, &[key[0], key[1], rate.parts().into()]).await?;
        let change = EntryChange::between(stored.as_ref(), &rate.parts());
        if change != EntryChange::Unchanged {
            first_change = Some(first_change.map_or(*day, |first: Day| first.min(*day)));
        }
        counts.count(change);
    }
    if let Some(day) = first_change {
        months::reopen_since(write, day).await?;
    }
    Ok(counts)
}
