//! The sales of one device by day, for the operator.

use kiosque_model::sales::Totals;
use kiosque_model::{Day, DeviceCode, DeviceNo, GroupNo};

use super::device_sums::each_day_of_device;
use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::sql::statements;
use crate::views::Reports;

statements! {
    /// The groups that have, had or will have a device, or keep orders of a period that was
    /// replaced.
    GROUPS_OF_DEVICE(code) -> (DeviceNo, GroupNo) = "select device_no, group_no from ledger
        where device_code = $code order by group_no";
}

impl Reports<'_> {
    /// Returns the sales of a device in all of its groups, each with its day and currency, in any
    /// order.
    ///
    /// # Errors
    /// The store failed.
    pub async fn device_days(
        self,
        code: DeviceCode,
        days: (Day, Day),
    ) -> Result<Vec<(Day, String, Totals)>, Error> {
        let list = async move |read: &Read<'_>| {
            let groups = read.all(&GROUPS_OF_DEVICE, &[code.as_str().into()]).await?;
            let mut sales = Vec::new();
            for (device, group) in groups {
                let add = |day, currency: &str, totals| {
                    sales.push((day, currency.to_owned(), totals));
                };
                each_day_of_device(read, device, group, days, add).await?;
            }
            Ok(sales)
        };
        self.0.db.read(Deadline::OfRequest, list).await
    }
}
