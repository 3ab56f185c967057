//! The list of a group's device pages, and the prices of the aisles of these devices.

use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use super::OfGroup;
use crate::Error;
use crate::db::Write;
use crate::sql::{row, statements};

row! {
    struct ValidityRow { listed: i64, listed_from_ms: UnixMs, listed_until_ms: UnixMs }
    struct ListedRow { device_code: String, device_no: DeviceNo }
    struct PriceRow { goods_id: String, price: i64, aisles: i64 }
    struct ChangesRow { listed_from_ms: UnixMs, listed_until_ms: UnixMs }
}

statements! {
    VALIDITY(group_no) -> ValidityRow = "select listed, listed_from_ms, listed_until_ms
        from group_changes where group_no = $group_no";
    SET_VALIDITY(group_no, listed, listed_from_ms, listed_until_ms) = "update group_changes
        set listed = $listed, listed_from_ms = $listed_from_ms, listed_until_ms = $listed_until_ms
        where group_no = $group_no";
    /// The last change of a group's devices until now, and the next one.
    CHANGES(group_no, now_ms) -> ChangesRow = "select
            coalesce(max(case when at_ms <= $now_ms then at_ms end), 0) as listed_from_ms,
            coalesce(min(case when at_ms > $now_ms then at_ms end), 9223372036854775807)
                as listed_until_ms
        from (
            select since_ms as at_ms from device_owners where group_no = $group_no
            union all select until_ms from device_owners where group_no = $group_no
        ) changes";
    COUNT_BEFORE(group_no, device_code) -> i64 = "select count(*) from device_list
        where group_no = $group_no and device_code < $device_code";
    CUT_LIST(group_no, length) = "delete from device_list
        where group_no = $group_no and place > $length";
    LISTED_FROM(group_no, now_ms, device_code) -> ListedRow = "select device_code, device_no
        from device_owners
        where group_no = $group_no and device_code >= $device_code
            and since_ms <= $now_ms and until_ms > $now_ms and listed
        order by device_code";
    EXTEND_LIST(group_no) = "insert into device_list (group_no, place, device_code, device_no)
        select g.group_no, r.place, r.code, r.device
        from {rows r: place bigint, code text, device bigint}
        cross join group_changes g where g.group_no = $group_no";
    DELETE_PRICES(group_no) = "delete from aisle_prices where group_no = $group_no";
    PRICES(group_no) -> PriceRow = "select a.goods_id, a.price, count(*) as aisles
        from device_list x join aisles a on a.device_no = x.device_no
        where x.group_no = $group_no and a.enabled
        group by a.goods_id, a.price";
    ADD_PRICES(group_no) = "insert into aisle_prices as stored (group_no, goods_id, price, aisles)
        select g.group_no, r.goods, r.price, r.aisles
        from {rows r: goods text, price bigint, aisles bigint}
        cross join group_changes g where g.group_no = $group_no
        on conflict (group_no, goods_id, price) do update set
            aisles = stored.aisles + excluded.aisles";
    DELETE_UNUSED_PRICES(group_no) = "delete from aisle_prices
        where group_no = $group_no and aisles = 0";
}

/// Updates the list and the prices of a group, which is locked, by the change of some devices.
pub(super) async fn update(
    write: &Write<'_>,
    group: GroupNo,
    old: &OfGroup,
    new: &OfGroup,
    now: UnixMs,
) -> Result<(), Error> {
    let validity = write.one(&VALIDITY, &[group.into()], |row| row.read()).await?;
    let Some(ValidityRow { mut listed, listed_from_ms: from, listed_until_ms: until }) = validity
    else {
        return Ok(());
    };
    if now < from || until <= now {
        return renew(write, group, now).await;
    }
    if let Some(first) = new.listed.symmetric_difference(&old.listed).next() {
        let code = first.as_str();
        let key = [group.into(), code.into()];
        let before = write.one(&COUNT_BEFORE, &key, |row| row.read()).await?.unwrap_or(0);
        listed = make_from(write, group, code, before, now).await?;
    }
    update_prices(write, group, old, new).await?;
    let (last, next) = new.changes;
    let from = last.map_or(from, |last| last.max(from));
    let until = next.map_or(until, |next| next.min(until));
    set_validity(write, group, listed, (from, until)).await
}

/// Makes the list and the prices of a group, which is locked, for the time `now`.
pub(super) async fn renew(write: &Write<'_>, group: GroupNo, now: UnixMs) -> Result<(), Error> {
    let listed = make_from(write, group, "", 0, now).await?;
    write.execute(&DELETE_PRICES, &[group.into()]).await?;
    let prices = write.all(&PRICES, &[group.into()], |row| row.read::<PriceRow>()).await?;
    let prices = prices.iter().map(|PriceRow { goods_id, price, aisles }| {
        [goods_id.as_str().into(), (*price).into(), (*aisles).into()]
    });
    write.execute_each(&ADD_PRICES, prices, &[group.into()]).await?;
    let changes = write.one(&CHANGES, &[group.into(), now.into()], |row| row.read()).await?;
    let Some(ChangesRow { listed_from_ms: from, listed_until_ms: until }) = changes else {
        return Ok(());
    };
    set_validity(write, group, listed, (from, until)).await
}

/// Makes the part of a list that begins with a code and has `before` devices before it. Returns the
/// length of the list.
async fn make_from(
    write: &Write<'_>,
    group: GroupNo,
    code: &str,
    before: i64,
    now: UnixMs,
) -> Result<i64, Error> {
    write.execute(&CUT_LIST, &[group.into(), before.into()]).await?;
    let part = [group.into(), now.into(), code.into()];
    let devices = write.all(&LISTED_FROM, &part, |row| row.read::<ListedRow>()).await?;
    let rows = (before + 1..).zip(&devices).map(|(place, device)| {
        [place.into(), device.device_code.as_str().into(), device.device_no.into()]
    });
    write.execute_each(&EXTEND_LIST, rows, &[group.into()]).await?;
    Ok(i64::try_from(devices.len()).map_or(i64::MAX, |added| before.saturating_add(added)))
}

async fn update_prices(
    write: &Write<'_>,
    group: GroupNo,
    old: &OfGroup,
    new: &OfGroup,
) -> Result<(), Error> {
    let mut differences = new.prices.clone();
    for (key, aisles) in &old.prices {
        *differences.entry(key.clone()).or_default() -= aisles;
    }
    differences.retain(|_, aisles| *aisles != 0);
    if differences.is_empty() {
        return Ok(());
    }
    let rows = differences.iter();
    let rows = rows
        .map(|((goods, price), aisles)| [goods.as_str().into(), (*price).into(), (*aisles).into()]);
    write.execute_each(&ADD_PRICES, rows, &[group.into()]).await?;
    write.execute(&DELETE_UNUSED_PRICES, &[group.into()]).await?;
    Ok(())
}

async fn set_validity(
    write: &Write<'_>,
    group: GroupNo,
    listed: i64,
    (from, until): (UnixMs, UnixMs),
) -> Result<(), Error> {
    let validity = [group.into(), listed.into(), from.into(), until.into()];
    write.execute(&SET_VALIDITY, &validity).await.map(|_| ())
}
