//! Blocks of a device's orders, with bounds of their trade starts.
//!
//! A list of the orders of a time span reads the bounds of blocks, and only the orders of blocks
//! that are partly in the span. A block is created when its last order arrives: once in 64 orders.

use std::collections::BTreeSet;

use kiosque_model::{DeviceNo, GroupNo, UnixMs};

use crate::db::Write;
use crate::error::Error;
use crate::sql::{Value, row, statements};

row! {
    struct BoundsRow { device_no: DeviceNo, block: i64, first_ms: UnixMs, last_ms: UnixMs }
}

statements! {
    BOUNDS(group_no) -> BoundsRow = "select o.device_no, r.block as block,
            min(o.trade_start_ms) as first_ms, max(o.trade_start_ms) as last_ms
        from {each r: device bigint, block bigint} cross join orders o
        where o.group_no = $group_no and o.device_no = r.device
            and o.seq > r.block * 64 and o.seq <= r.block * 64 + 64
        group by o.device_no, r.block";
    SET_BLOCKS(group_no) = "insert into order_blocks
            (group_no, device_no, block, first_ms, last_ms)
        select g.group_no, r.device, r.block, r.first_ms, r.last_ms
        from {rows r: device bigint, block bigint, first_ms bigint, last_ms bigint}
        cross join group_changes g where g.group_no = $group_no
        on conflict (group_no, device_no, block) do update set
            first_ms = excluded.first_ms, last_ms = excluded.last_ms";
}

/// Orders per block. The statements of this module and the layout contain the number, too.
pub(crate) const BLOCK_ORDERS: i64 = 64;

/// Returns the last order of the last complete block.
pub(crate) fn blocked_seq(last_seq: i64) -> i64 {
    last_seq / BLOCK_ORDERS * BLOCK_ORDERS
}

/// The blocks of a group whose bounds a transaction changes: their devices and their numbers.
#[derive(Debug, Default)]
pub(crate) struct ChangedBlocks(BTreeSet<(DeviceNo, i64)>);

impl ChangedBlocks {
    /// Adds the block of an order that has a different trade start.
    pub(crate) fn insert(&mut self, device: DeviceNo, seq: i64) {
        self.0.insert((device, (seq - 1) / BLOCK_ORDERS));
    }

    /// Adds the blocks that have become complete: the orders of a device in complete blocks ended
    /// with `old` and now end with `new`.
    pub(crate) fn extend(&mut self, device: DeviceNo, old: i64, new: i64) {
        let blocks = old / BLOCK_ORDERS..new / BLOCK_ORDERS;
        self.0.extend(blocks.map(|block| (device, block)));
    }

    /// Writes the bounds of the blocks, after their orders.
    pub(crate) async fn write(&self, write: &Write<'_>, group: GroupNo) -> Result<(), Error> {
        let of_group = [group.into()];
        if self.0.is_empty() {
            return Ok(());
        }
        let keys = self.0.iter().map(|(device, block)| [(*device).into(), (*block).into()]);
        let keys: Vec<[Value<'_>; 2]> = keys.collect();
        let blocks = write.all_of(&BOUNDS, &keys, &of_group).await?.into_iter();
        let blocks = blocks.map(|BoundsRow { device_no, block, first_ms, last_ms }| {
            [device_no.into(), block.into(), first_ms.into(), last_ms.into()]
        });
        write.execute_each(&SET_BLOCKS, blocks, &of_group).await
    }
}
