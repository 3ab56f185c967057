//! The sales trend: the sales of each day of a range.

use std::collections::BTreeMap;

use kiosque_model::sales::Turnover;
use kiosque_model::{Claim, Day};

use super::{AnswerContext, DashboardQuery, Report, SalesBy};
use crate::{Refused, Store};

impl Store {
    /// Returns the sales of every day of the range, in order.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn sales_trend(
        &self,
        claim: Claim,
        query: DashboardQuery,
    ) -> Result<Vec<(Day, Turnover)>, Refused> {
        self.report(claim, query, TrendReport).await
    }
}

pub(super) struct TrendReport;

impl Report for TrendReport {
    type Rows = BTreeMap<Day, Turnover>;
    type Step = ();
    type Answer = Vec<(Day, Turnover)>;
    const SALES: SalesBy = SalesBy::Day;

    fn on_day(&self, rows: &mut Self::Rows, day: Day, turnover: &Turnover) {
        rows.entry(day).or_default().join(turnover);
    }

    fn answer(
        self,
        mut rows: Self::Rows,
        context: &AnswerContext<'_>,
    ) -> Result<Self::Answer, Refused> {
        let request = context.request;
        let days = request.range.as_ref().map(|range| range.days(&request.zone));
        let days = days.unwrap_or_default().into_iter();
        Ok(days.map(|day| (day, rows.remove(&day).unwrap_or_default())).collect())
    }
}
