//! Compares the rows that a group has about its devices with the fleet that they follow from.

use std::collections::BTreeMap;

use kiosque_model::{DeviceNo, UnixMs};

use super::{Group, Verified};
use crate::Error;
use crate::db::Read;
use crate::sql::{Row, Sql, row, statements};

row! {
    struct NameRow<'r> {
        device_code: &'r str,
        stored: &'r str,
        device_name: &'r str,
    }
    struct ListRow {
        listed: i64,
        listed_from_ms: UnixMs,
        listed_until_ms: UnixMs,
    }
    #[derive(PartialEq)]
    struct PlaceRow { place: i64, device_code: String, device_no: DeviceNo }
    struct PriceRow { goods_id: String, price: i64, aisles: i64 }
}

statements! {
    /// The last owner's ledgers in which the device has another name.
    OTHER_NAMES(group_no) -> NameRow<'_> = "select l.device_code, l.device_name as stored,
            d.device_name
        from device_owners o
        join ledger l on l.group_no = $group_no and l.device_code = o.device_code
        join devices d on d.device_no = o.device_no
        where o.group_no = $group_no and o.until_ms = 9223372036854775807
            and l.device_name <> d.device_name
        order by l.device_code";
    LIST(group_no) -> ListRow = "select listed, listed_from_ms, listed_until_ms
        from group_changes where group_no = $group_no";
    STORED_LIST(group_no) -> PlaceRow = "select place, device_code, device_no from device_list
        where group_no = $group_no order by place";
    LISTED_DEVICES(group_no, at_ms) -> PlaceRow = "select
            row_number() over (order by o.device_code) as place, o.device_code, o.device_no
        from device_owners o
        where o.group_no = $group_no and o.since_ms <= $at_ms and o.until_ms > $at_ms and o.listed
        order by o.device_code";
    CHANGES_BETWEEN(group_no, from_ms, until_ms) -> i64 = "select count(*) from device_owners
        where group_no = $group_no and (
            (since_ms > $from_ms and since_ms < $until_ms)
            or (until_ms > $from_ms and until_ms < $until_ms)
        )";
    STORED_PRICES(group_no) -> PriceRow = "select goods_id, price, aisles from aisle_prices
        where group_no = $group_no";
    PRICES(group_no, at_ms) -> PriceRow = "select a.goods_id, a.price, count(*) as aisles
        from device_owners o join aisles a on a.device_no = o.device_no
        where o.group_no = $group_no and o.since_ms <= $at_ms and o.until_ms > $at_ms
            and o.listed and a.enabled
        group by a.goods_id, a.price";
}

pub(super) async fn check(
    read: &Read<'_>,
    group: &Group,
    found: &mut Verified,
) -> Result<(), Error> {
    let number = [group.number.into()];
    read.each(&OTHER_NAMES, &number, |row| {
        let NameRow { device_code, stored, device_name } = row.read()?;
        found.differences.push(format!(
            "group {}, device {device_code}: the name {stored:?} is stored, the device is called \
             {device_name:?}",
            group.id
        ));
        Ok(())
    })
    .await?;
    match read.one(&LIST, &number, |row| row.read::<ListRow>()).await? {
        Some(list) => list.check(read, group, found).await,
        None => Ok(()),
    }
}

impl ListRow {
    async fn check(
        &self,
        read: &Read<'_>,
        group: &Group,
        found: &mut Verified,
    ) -> Result<(), Error> {
        let ListRow { listed, listed_from_ms: from, listed_until_ms: until } = self;
        let (id, group) = (&group.id, group.number.into());
        let place = |row: &Row<'_>| row.read::<PlaceRow>();
        let stored = read.all(&STORED_LIST, &[group], place).await?;
        let expected = read.all(&LISTED_DEVICES, &[group, (*from).into()], place).await?;
        let differences = &mut found.differences;
        if i64::try_from(stored.len()) != Ok(*listed) {
            differences.push(format!(
                "group {id}: {listed} devices are counted, its device list has {}",
                stored.len()
            ));
        }
        if stored != expected {
            let same = stored.iter().zip(&expected).take_while(|(one, other)| one == other);
            differences.push(format!(
                "group {id}: its device list has {} devices, it owns {} that are enabled; they \
                 differ from place {} on",
                stored.len(),
                expected.len(),
                same.count() + 1
            ));
        }
        let between = [group, (*from).into(), (*until).into()];
        let changes = read.one(&CHANGES_BETWEEN, &between, |row| row.read::<i64>()).await?;
        if changes != Some(0) {
            differences.push(format!(
                "group {id}: its device list holds from {} until {}, and owners change in between",
                from.0, until.0
            ));
        }
        let stored = prices(read, &STORED_PRICES, &[group]).await?;
        let counted = prices(read, &PRICES, &[group, (*from).into()]).await?;
        for key @ (goods, price) in stored.keys().chain(counted.keys()) {
            let (stored, counted) = (stored.get(key), counted.get(key));
            if stored != counted {
                let (stored, counted) = (stored.unwrap_or(&0), counted.unwrap_or(&0));
                let difference = format!(
                    "group {id}: product {goods} at the price {price}: {stored} aisles are \
                     counted, {counted} sell it"
                );
                if !differences.contains(&difference) {
                    differences.push(difference);
                }
            }
        }
        Ok(())
    }
}

async fn prices(
    read: &Read<'_>,
    sql: &'static Sql,
    params: &[crate::sql::Value<'_>],
) -> Result<BTreeMap<(String, i64), i64>, Error> {
    let price = |row: &Row<'_>| {
        let PriceRow { goods_id, price, aisles } = row.read()?;
        Ok(((goods_id, price), aisles))
    };
    Ok(read.all(sql, params, price).await?.into_iter().collect())
}
