//! The summary: the sales of a range, and the devices that the group owns now.

use kiosque_model::sales::Turnover;
use kiosque_model::{Claim, Day};

use super::{AnswerContext, DashboardQuery, Report, SalesBy};
use crate::devices::OnlineSince;
use crate::{Refused, Store};

/// The figures of the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The sales of the range.
    pub turnover: Turnover,
    /// Enabled devices that the group owns now.
    pub devices: i64,
    /// Those of them that are online.
    pub online_devices: i64,
}

impl Store {
    /// Returns the sum of all sales of the range, and the number of devices now.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn summary(
        &self,
        claim: Claim,
        online: OnlineSince,
        query: DashboardQuery,
    ) -> Result<Summary, Refused> {
        self.report(claim, query, SummaryReport { online }).await
    }
}

struct SummaryReport {
    online: OnlineSince,
}

impl Report for SummaryReport {
    type Rows = Turnover;
    type Step = ();
    type Answer = Summary;
    const SALES: SalesBy = SalesBy::Day;
    const COUNTS_DEVICES: bool = true;

    fn on_day(&self, rows: &mut Turnover, _: Day, turnover: &Turnover) {
        rows.join(turnover);
    }

    fn answer(self, turnover: Turnover, context: &AnswerContext<'_>) -> Result<Summary, Refused> {
        let AnswerContext { request, group, owned_devices } = context;
        let (devices, online_devices) =
            owned_devices.count(*group, request.now, &request.activity, self.online);
        Ok(Summary { turnover, devices, online_devices })
    }
}
