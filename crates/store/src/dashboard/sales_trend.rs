//! The sales trend: the sales of each day of a range.

use kiosque_model::sales::Turnover;
use kiosque_model::{Claim, Day};

use super::DashboardQuery;
use super::figures::days::every_day;
use crate::error::Refused;
use crate::views::Reports;

impl Reports<'_> {
    /// Returns the sales of every day of the range, in order.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn sales_trend(
        self,
        claim: Claim,
        query: DashboardQuery,
    ) -> Result<Vec<(Day, Turnover)>, Refused> {
        let range = query.range(&self.0.zone);
        let (_, days, ()) = self.sales_by_day(&claim, &query, range.as_ref(), |_| ()).await?;
        Ok(every_day(&days, range.as_ref(), &self.0.zone))
    }
}
