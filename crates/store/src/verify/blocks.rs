//! Compares the blocks of each device's orders with the orders.

use super::{Group, LEDGERS, Verified};
use crate::archive::LedgerRow;
use crate::db::Read;
use crate::error::Error;
use crate::orders::blocks::BLOCK_ORDERS;
use crate::sql::statements;

statements! {
    BLOCKS(group_no, device_no) -> i64 = "select count(*) from order_blocks
        where group_no = $group_no and device_no = $device_no";
    OUTSIDE(group_no, device_no) -> i64 = "select count(*)
        from order_blocks b join orders o on o.group_no = $group_no and o.device_no = $device_no
            and o.seq > b.block * 64 and o.seq <= b.block * 64 + 64
        where b.group_no = $group_no and b.device_no = $device_no
            and (o.trade_start_ms < b.first_ms or o.trade_start_ms > b.last_ms)";
}

pub(super) async fn check(
    read: &Read<'_>,
    group: &Group,
    found: &mut Verified,
) -> Result<(), Error> {
    let number = group.number;
    for row in read.all::<LedgerRow>(&LEDGERS, &[number.into()]).await? {
        let LedgerRow { device_no, device_code, last_seq: last, blocked_seq: blocked, .. } = row;
        let name = format!("group {}, device {device_code}", group.id);
        let of_device = [number.into(), device_no.into()];
        let blocks = read.one::<i64>(&BLOCKS, &of_device).await?.unwrap_or(0);
        if blocked != blocks * BLOCK_ORDERS || blocked > last {
            found.differences.push(format!(
                "{name}: orders up to {blocked} of {last} are in blocks, there are {blocks} \
                 blocks of {BLOCK_ORDERS}"
            ));
        }
        let outside = read.one::<i64>(&OUTSIDE, &of_device).await?.unwrap_or(0);
        if outside > 0 {
            found.differences.push(format!(
                "{name}: {outside} orders started outside of the bounds of their blocks"
            ));
        }
    }
    Ok(())
}
