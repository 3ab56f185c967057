//! The data of the demonstration: its accounts, groups, kiosks and products, from `data.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::civil::Weekday;
use kiosque_model::Currency;
use serde::Deserialize;

/// The data. The tests parse it, and check every reference in it.
pub(super) static DATA: LazyLock<Data> =
    LazyLock::new(|| toml::from_str(include_str!("data.toml")).expect("the tests parse the data"));

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Data {
    /// The password of each account.
    pub(super) password: String,
    /// All accounts; the example calls use the first.
    pub(super) accounts: Vec<Account>,
    categories: BTreeMap<String, Category>,
    models: BTreeMap<String, Vec<u32>>,
    rhythms: BTreeMap<String, Rhythm>,
    /// Dollars per unit of each currency, in millionths, by week.
    pub(super) usd_millionths: BTreeMap<String, Vec<i64>>,
    pub(super) ranges: Vec<Range>,
    pub(super) sites: Vec<Site>,
}

/// An account.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Account {
    pub(super) login_name: String,
    pub(super) display_name: String,
    pub(super) groups: Vec<String>,
    pub(super) third_party_api: Option<bool>,
    pub(super) enabled: Option<bool>,
    /// A sentence on the behaviour that it demonstrates.
    pub(super) shows: String,
}

/// A category of products.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Category {
    /// Number of items that fit an aisle.
    pub(super) capacity: u32,
    /// Whether a line of an order has one item.
    #[serde(default)]
    pub(super) single: bool,
    /// Weight of the demand at each hour of the day.
    pub(super) demand: [u32; 24],
}

/// The demand at a kind of site.
#[derive(Debug, Deserialize)]
pub(super) struct Rhythm {
    working: [u32; 24],
    weekend: [u32; 24],
    week: [u32; 7],
}

impl Rhythm {
    /// Returns the weight of each hour in a day's demand.
    pub(super) fn hours(&self, weekday: Option<Weekday>) -> &[u32; 24] {
        match weekday {
            Some(Weekday::Saturday | Weekday::Sunday) => &self.weekend,
            _ => &self.working,
        }
    }

    /// Returns the demand on a day of the week, in percent of the usual demand.
    pub(super) fn volume(&self, weekday: Weekday) -> u32 {
        self.week[usize::from(weekday.to_monday_zero_offset().unsigned_abs())]
    }
}

/// The products of the kiosks of a country.
#[derive(Debug, Deserialize)]
pub(super) struct Range {
    country: String,
    currency: String,
    /// Unit of prices, including discounted ones, in minor units.
    pub(super) step: i64,
    pub(super) products: Vec<Product>,
}

impl Range {
    /// Returns the currency of all prices.
    pub(super) fn currency(&self) -> Currency {
        currency(&self.currency)
    }
}

/// Returns a currency by its code.
pub(super) fn currency(code: &str) -> Currency {
    Currency::parse(code).expect("the data has ISO 4217 codes")
}

/// One product.
#[derive(Debug, Deserialize)]
pub(super) struct Product {
    /// The `goodsId`.
    pub(super) id: String,
    /// List price in minor units of the range's currency.
    pub(super) price: i64,
    /// Weight of its demand among the products of its category.
    pub(super) popularity: u32,
    pub(super) category: String,
    pub(super) name: String,
}

impl Product {
    pub(super) fn category(&self) -> &'static Category {
        &DATA.categories[&self.category]
    }
}

/// A group and its kiosks.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Site {
    /// The `groupId`.
    pub(super) group: String,
    pub(super) name: String,
    /// Prefix of device codes.
    pub(super) prefix: String,
    country: String,
    rhythm: String,
    /// Prefix of phone numbers.
    pub(super) dial: String,
    /// Weeks since the last sale of an inactive group.
    pub(super) closed_weeks_ago: Option<u32>,
    pub(super) channels: Vec<Channel>,
    pub(super) kiosks: Vec<Location>,
}

impl Site {
    /// Returns the products of the kiosks.
    pub(super) fn range(&self) -> &'static Range {
        let range = DATA.ranges.iter().find(|range| range.country == self.country);
        range.expect("each country has products")
    }

    pub(super) fn rhythm(&self) -> &'static Rhythm {
        &DATA.rhythms[&self.rhythm]
    }
}

/// A payment channel.
#[derive(Debug, Deserialize)]
pub(super) struct Channel {
    /// Its share in percent.
    pub(super) share: u32,
    pub(super) records: Recorded,
    pub(super) name: String,
}

/// What a payment channel records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Recorded {
    /// A card number and a trade number.
    Card,
    /// A phone number and a trade number.
    Phone,
    /// A trade number.
    Trade,
    /// Nothing.
    Nothing,
}

/// A kiosk.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Location {
    pub(super) model: String,
    /// Demand, in percent of the usual demand.
    pub(super) busy: u32,
    pub(super) enabled: Option<bool>,
    /// Whether it sends heartbeats.
    pub(super) online: Option<bool>,
    pub(super) name: String,
    pub(super) address: String,
}

impl Location {
    /// Returns the number of layers of each cabinet.
    pub(super) fn cabinets(&self) -> &'static [u32] {
        &DATA.models[&self.model]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_data_is_defined() {
        for site in &DATA.sites {
            let _ = (site.range(), site.rhythm());
            assert!(site.kiosks.iter().all(|kiosk| !kiosk.cabinets().is_empty()));
            assert_eq!(site.channels.iter().map(|channel| channel.share).sum::<u32>(), 100);
        }
        for range in &DATA.ranges {
            assert!(range.products.iter().all(|product| product.category().capacity > 0));
            let code = range.currency().code().to_owned();
            assert!(code == "USD" || DATA.usd_millionths.contains_key(&code), "{code}");
        }
    }
}
