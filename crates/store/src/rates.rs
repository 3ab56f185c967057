//! Dated exchange rates: what one unit of a currency is worth in US dollars from a day on.

use kiosque_model::sales::Rate;
use kiosque_model::{Currency, Day};

use crate::db::{Length, Write};
use crate::fleet::{ReportContext, Tally};
use crate::sql::statements;
use crate::{Error, Store, metadata};

statements! {
    KEPT = "select usd_per_unit_e12 from rates where currency = $1 and day = $2";
    SET = "insert into rates (currency, day, usd_per_unit_e12) values ($1, $2, $3)
        on conflict (currency, day) do update set usd_per_unit_e12 = excluded.usd_per_unit_e12";
}

/// A rate that holds from a day on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatedRate {
    /// The first day on which it holds.
    pub day: Day,
    /// Of which currency.
    pub currency: Currency,
    /// Dollars for one unit.
    pub rate: Rate,
}

impl Store {
    /// Takes rates in, all or nothing; one of the same currency and day replaces what was kept.
    ///
    /// # Errors
    /// The store failed.
    pub async fn set_rates(&self, rates: Vec<DatedRate>) -> Result<Tally, Error> {
        self.db.write(Length::Long, async move |write: &Write<'_>| set(write, &rates).await).await
    }
}

async fn set(write: &Write<'_>, rates: &[DatedRate]) -> Result<Tally, Error> {
    metadata::rates_change(write).await?;
    let mut tally = Tally::default();
    for DatedRate { day, currency, rate } in rates {
        let key = [currency.code().into(), day.0.into()];
        let kept = write.one(&KEPT, &key, |row| row.int(0)).await?;
        write.execute(&SET, &[key[0], key[1], rate.parts().into()]).await?;
        tally.count(match kept {
            None => ReportContext::Created,
            Some(kept) => ReportContext::changed_if_different(&kept, &rate.parts()),
        });
    }
    Ok(tally)
}
