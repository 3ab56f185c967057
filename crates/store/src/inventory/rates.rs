//! The list of exchange rates.

use kiosque_contract::inventory::RateItem;
use kiosque_model::{Currency, Day};

use super::{Listed, Listing};
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::rates::RateRow;
use crate::sql::statements;
use crate::views::Inventory;

statements! {
    RATES(currency, day, count) -> RateRow<'_> = "select currency, day, usd_per_unit_e12 from rates
        where (currency, day) > ($currency, $day) order by currency, day limit $count";
}

/// The key of a rate.
pub type RateKey = (Currency, Day);

impl Inventory<'_> {
    /// Returns a part of the list of rates, by currency and date.
    ///
    /// # Errors
    /// The store failed.
    pub async fn rates(
        self,
        listing: Listing<RateKey>,
    ) -> Result<Listed<RateItem, RateKey>, Error> {
        let list = async move |read: &Read<'_>| {
            let after = listing.after.map(|(currency, day)| (currency.code(), day));
            let (currency, day) = after.unwrap_or(("", Day(i64::MIN)));
            let params = [currency.into(), day.into(), listing.count().into()];
            let mut rates = Vec::new();
            read.each(&RATES, &params, |row| {
                rates.push(row.read::<RateRow<'_>>()?.parse()?);
                Ok(())
            })
            .await?;
            Ok(listing.cut(rates, |rate| (rate.currency, rate.day)).map(|rate| RateItem {
                currency: rate.currency.code().to_owned(),
                date: rate.day.to_string(),
                usd_per_unit: rate.rate.to_string(),
            }))
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }
}
