//! Dated exchange rates: US dollars per unit of a currency, valid from a day on.

use std::collections::BTreeMap;

use kiosque_contract::ChangeCounts;
use kiosque_model::sales::Rate;
use kiosque_model::{Currency, Day};

use crate::change_counts::count_entry;
use crate::db::{Deadline, Read, Write};
use crate::error::Error;
use crate::histories::Opening;
use crate::sql::{distinct, row, statements};
use crate::views::FleetView;
use crate::{metadata, versions};

row! {
    /// A rate.
    pub(crate) struct RateRow<'r> {
        pub(crate) currency: &'r str,
        pub(crate) day: Day,
        pub(crate) usd_per_unit_e12: i64,
    }
}

statements! {
    STORED_RATES() -> RateRow<'_> = "select t.currency, t.day, t.usd_per_unit_e12
        from {rows r: currency text} cross join rates t where t.currency = r.currency";
    SET_RATE(currency, day, usd_per_unit_e12) = "insert into rates (currency, day, usd_per_unit_e12)
        values ($currency, $day, $usd_per_unit_e12)
        on conflict (currency, day) do update set usd_per_unit_e12 = excluded.usd_per_unit_e12";
}

/// The factor by which a rate must differ from the previous one to be reported.
const JUMP: i128 = 10;

/// A rate that is valid from a day on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatedRate {
    /// The first day on which it is valid.
    pub day: Day,
    /// The currency that it converts.
    pub currency: Currency,
    /// Dollars per unit of the currency.
    pub rate: Rate,
}

/// The effect of storing rates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RatesSet {
    /// The rates by their effect.
    pub counts: ChangeCounts,
    /// The rates that replaced another one, in order.
    pub replaced: Vec<RateChange>,
    /// The new and changed rates that differ from the previous one by a factor of more than ten, in
    /// order.
    pub jumps: Vec<RateChange>,
}

/// A rate that replaced another one, or differs from the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChange {
    /// The rate that is now stored.
    pub new: DatedRate,
    /// The rate that it replaced, or the one of the latest earlier day.
    pub before: DatedRate,
}

impl RateRow<'_> {
    /// Parses the currency and the rate.
    pub(crate) fn parse(self) -> Result<DatedRate, Error> {
        let RateRow { currency, day, usd_per_unit_e12 } = self;
        let rate = Rate::from_parts(usd_per_unit_e12);
        let not_above_zero =
            || Error::Data(format!("the rate of {currency} on {day} is not above zero"));
        let rate = rate.ok_or_else(not_above_zero)?;
        Ok(DatedRate { day, currency: Currency::parse(currency)?, rate })
    }
}

impl FleetView<'_> {
    /// Stores rates, all or nothing. A rate replaces a stored one of the same currency and day.
    ///
    /// # Errors
    /// The store failed.
    pub async fn set_rates(self, rates: Vec<DatedRate>) -> Result<RatesSet, Error> {
        let opening = self.0.opening;
        let set = async move |write: &Write<'_>| set(write, &rates, opening).await;
        self.0.db.write(Deadline::None, set).await
    }
}

async fn set(write: &Write<'_>, rates: &[DatedRate], opening: Opening) -> Result<RatesSet, Error> {
    metadata::lock(write, metadata::RATES).await?;
    let stored = stored_rates(write, rates).await?;
    let (effect, changed) = effect(rates, stored);
    for DatedRate { day, currency, rate } in &changed {
        let params = [currency.code().into(), (*day).into(), rate.parts().into()];
        write.execute(&SET_RATE, &params).await?;
    }
    if !changed.is_empty() {
        versions::rates_change(write, opening).await?;
    }
    Ok(effect)
}

/// Rates by currency code and day.
type RatesByDay = BTreeMap<(&'static str, Day), Rate>;

/// Returns the stored rates of the currencies of some rates.
async fn stored_rates(read: &Read<'_>, rates: &[DatedRate]) -> Result<RatesByDay, Error> {
    let rows = distinct(rates.iter().map(|rate| rate.currency.code()));
    let mut stored = RatesByDay::new();
    read.each_of(&STORED_RATES, &rows, &[], |row| {
        let DatedRate { day, currency, rate } = row.read::<RateRow<'_>>()?.parse()?;
        stored.insert((currency.code(), day), rate);
        Ok(())
    })
    .await?;
    Ok(stored)
}

/// Returns the effect of storing rates, and the new and changed ones.
fn effect(rates: &[DatedRate], mut stored: RatesByDay) -> (RatesSet, Vec<DatedRate>) {
    let mut all = stored.clone();
    all.extend(rates.iter().map(|rate| ((rate.currency.code(), rate.day), rate.rate)));
    let mut effect = RatesSet::default();
    let mut changed = Vec::new();
    for new in rates {
        let DatedRate { day, currency, rate } = *new;
        let key = (currency.code(), day);
        let old = stored.insert(key, rate);
        if !count_entry(&mut effect.counts, old.as_ref(), &rate) {
            continue;
        }
        changed.push(*new);
        let replaced = old.map(|rate| DatedRate { rate, ..*new });
        effect.replaced.extend(replaced.map(|before| RateChange { new: *new, before }));
        let before = replaced.or_else(|| {
            let earlier = all.range((key.0, Day(i64::MIN))..key).next_back();
            earlier.map(|((_, day), rate)| DatedRate { day: *day, currency, rate: *rate })
        });
        let jump = before.filter(|before| is_jump(before.rate, rate));
        effect.jumps.extend(jump.map(|before| RateChange { new: *new, before }));
    }
    (effect, changed)
}

fn is_jump(before: Rate, after: Rate) -> bool {
    let (before, after) = (i128::from(before.parts()), i128::from(after.parts()));
    after > before * JUMP || before > after * JUMP
}
