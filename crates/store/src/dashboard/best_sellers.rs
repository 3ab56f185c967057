//! The best-selling products.

mod goods;

use std::collections::BTreeSet;

use kiosque_model::Claim;

use super::figures::goods::ProductSales;
use super::figures::products::{add_parts, best};
use super::filter::Devices;
use super::{DashboardQuery, device_sums, sums};
use crate::error::Refused;
use crate::scoped::{HintedGroup, presumed_group};
use crate::versions::versions;
use crate::views::Reports;

#[cfg(test)]
pub(super) use goods::all;

impl Reports<'_> {
    /// Returns at most `most` best-selling products: by items, then by amount, then by `goodsId`.
    /// Returns none if the group owns no enabled device of the filter now (DASH-19).
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn best_sellers(
        self,
        claim: Claim,
        query: DashboardQuery,
        most: usize,
    ) -> Result<Vec<ProductSales>, Refused> {
        let range = query.range(&self.0.zone);
        let now = claim.now;
        let codes = query.codes();
        let presumed = presumed_group(self.0, &claim, query.group.as_ref());
        let hinted = presumed.map(|group| self.0.best_seller_hints.get(group));
        let mut goods: BTreeSet<String> = hinted.into_iter().flatten().collect();
        loop {
            let ids: Vec<&str> = goods.iter().map(String::as_str).collect();
            let about = |group: HintedGroup, devices: &Devices| {
                let sales = range.as_ref().map(|range| {
                    let sales = device_sums::by_product(devices, &ids, range, group);
                    (sales, sums::products_in_parts(range, group, &self.0.dictionaries))
                });
                let is_of_group = codes.is_none();
                let prices = is_of_group.then(|| self.cached_prices(group, &ids, now)).flatten();
                let today = self.0.zone.day_of(now);
                let goods = goods::of(&ids, codes.as_deref(), prices, today, now, group);
                (sales, (goods, is_of_group.then(|| versions(group))))
            };
            let (scope, devices, (sales, (mut of_goods, versions))) =
                self.scoped_to_devices(&claim, &query, about).await?;
            let group = scope.group();
            if let Some(versions) = versions.flatten() {
                self.cache_prices(&mut of_goods, group, versions, &ids, now);
            }
            let Some((sums, parts)) = sales.filter(|_| of_goods.devices > 0) else {
                return Ok(Vec::new());
            };
            let mut sales = sums.sales;
            add_parts(&mut sales, parts, &devices, &sums.rates);
            let best = best(sales, most)?;
            let ids = || best.iter().map(|(goods_id, _)| goods_id.clone());
            // Only the goods that were looked up have names, prices and devices.
            if ids().all(|goods_id| goods.contains(&goods_id)) {
                self.0.best_seller_hints.insert(group, ids().collect());
                return Ok(best.into_iter().map(|sales| of_goods.describe(sales)).collect());
            }
            goods.extend(ids());
        }
    }
}
