//! The query of a device page.

use kiosque_model::{Claim, Refusal};

use super::{Device, DeviceQuery, DeviceRow, OnlineSince, listed, listed_count, listed_with};
use crate::db::Bound;
use crate::devices;
use crate::error::Refused;
use crate::json_records::JsonRecords;
use crate::scoped::{HintedGroup, scoped};
use crate::sql::statements;
use crate::views::Reports;

statements! {
    /// A page of all devices of a group. Without a pending move, its first device is found in an
    /// index of the devices that are listed now; otherwise by the owners at the time of the
    /// request.
    PAGE(group_no, now_ms, skip, size) -> DeviceRow<'_> = "select
            d.device_no, d.device_code, d.device_name, d.device_model, d.address,
            d.total_curr_stock, l.last_active_ms, d.created_at_ms
        from device_owners o cross join devices d cross join ledger l
        where o.group_no = $group_no and o.device_code >= (
            select case when c.devices_from_ms <= $now_ms
                then (
                    select x.device_code from device_owners x
                    where x.group_no = $group_no and x.listed = true
                        and x.until_ms = 9223372036854775807
                    order by x.device_code limit 1 offset $skip
                )
                else (
                    select x.device_code from device_owners x
                    where x.group_no = $group_no and x.since_ms <= $now_ms
                        and x.until_ms > $now_ms and x.listed
                    order by x.device_code limit 1 offset $skip
                )
            end
            from group_changes c where c.group_no = $group_no)
            and o.since_ms <= $now_ms and o.until_ms > $now_ms and o.listed
            and d.device_no = o.device_no
            and l.group_no = $group_no and l.device_code = o.device_code
        order by o.device_code limit $size";
    IN_SCOPE(group_no, device_code, now_ms) -> i64 = "select 1 from ledger
        where group_no = $group_no and device_code = $device_code
            and (since_ms <= $now_ms or last_seq >= first_seq)";
}

impl Reports<'_> {
    /// Reads a page of the devices that the scope's group owns now, each as the JSON of
    /// [`kiosque_contract::DeviceRecord`], and the total. The page is a range of all devices; or of
    /// those that match filters, for which all devices are read; or the device with a code.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn read_device_page(
        self,
        claim: Claim,
        online: OnlineSince,
        request: DeviceQuery,
    ) -> Result<(i64, JsonRecords), Refused> {
        if !request.is_plain() {
            return self.filtered_device_page(claim, online, request).await;
        }
        let skip = request.page.skip();
        let size = request.page.size();
        let now = claim.now;
        let about = |group: HintedGroup| {
            let page = Bound::new(&PAGE, [group.into(), now.into(), skip.into(), size.into()]);
            let add = move |records: &mut JsonRecords, device: Device<'_>| {
                records.push(&device.record(online))
            };
            let devices = devices::devices_of(self.0, group, page, JsonRecords::default(), add);
            (listed_count(group, now), devices)
        };
        let (_, (total, (_, devices))) =
            scoped(self.0, &claim, request.group.as_ref(), about).await?;
        Ok((total.unwrap_or_default(), devices))
    }

    /// Applies filters one device at a time: half of a device's last activity is in memory, and
    /// both engines must compare texts in the same way.
    async fn filtered_device_page(
        self,
        claim: Claim,
        online: OnlineSince,
        request: DeviceQuery,
    ) -> Result<(i64, JsonRecords), Refused> {
        let skip = request.page.skip();
        let size = request.page.size();
        let now = claim.now;
        let about = |group: HintedGroup| {
            let (devices, in_scope) = match &request.code {
                None => (listed(group, now, "", i64::MAX.into()), None),
                Some(Err(_)) => return None,
                Some(Ok(code)) => {
                    let params = [group.into(), code.as_str().into(), now.into()];
                    let in_scope = Bound::new(&IN_SCOPE, params).one::<i64>();
                    let codes = [vec![code.as_str().into()]];
                    (listed_with(group, now, codes), Some(in_scope))
                }
            };
            let request = request.clone();
            let add = move |(matching, records): &mut (i64, JsonRecords), device: Device<'_>| {
                if !request.matches(&device, online) {
                    return Ok(());
                }
                let is_on_page = (skip..skip.saturating_add(size)).contains(matching);
                *matching += 1;
                if is_on_page { records.push(&device.record(online)) } else { Ok(()) }
            };
            Some((devices::devices_of(self.0, group, devices, <_>::default(), add), in_scope))
        };
        let (_, rows) = scoped(self.0, &claim, request.group.as_ref(), about).await?;
        // A device outside the scope is refused (SCOPE-4). A device that the group once owned, or
        // that is not enabled, is in scope but on no page (DEV-5).
        let ((_, page), in_scope) = rows.ok_or(Refusal::OutOfScope)?;
        if in_scope.is_some_and(|in_scope| in_scope.is_none()) {
            return Err(Refusal::OutOfScope.into());
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::PAGE;
    use crate::explain;

    /// Devices of the group.
    const DEVICES: u32 = 1_000;

    /// Behind the devices that it skips, a page reads its own and no others.
    #[tokio::test]
    async fn a_page_reads_no_devices_behind_it() {
        let schema = explain::with_tables().await;
        schema.script(&format!(
            "insert into group_changes (group_no, last_change_no) values (1, 0);
            insert into device_owners (group_no, device_code, since_ms, until_ms, listed, device_no)
                select 1, 'd' || n, 0, 9223372036854775807, true, n
                from generate_series(1, {DEVICES}) n;
            insert into devices (device_no, device_code, device_name, device_model, address,
                    enabled, created_at_ms, total_curr_stock)
                select n, 'd' || n, '', '', '', true, 0, 0 from generate_series(1, {DEVICES}) n;
            insert into ledger (group_no, device_code, device_no, since_ms, first_seq, archived_seq,
                    last_seq)
                select 1, 'd' || n, n, 0, 1, 0, 0 from generate_series(1, {DEVICES}) n;
            analyze;"
        ));
        let plan = schema.sql(&format!(
            "{} prepare page as {};
            explain (analyze, costs off, timing off, summary off) execute page(1, 5, 20, 10)",
            explain::settings(),
            PAGE.for_postgres().expect("a statement")
        ));
        let read = explain::rows_read(&plan, &["device_owners", "devices", "ledger"]);
        assert!(read <= 60.0, "{read} rows\n{plan}");
    }
}
