//! Blocks of a device's orders, with bounds of their trade starts.
//!
//! A list of the orders of a time span reads the bounds of blocks, and only the orders of blocks
//! that are partly in the span. A block is created when its last order arrives: once in 64 orders.

use std::collections::BTreeMap;

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
    ADD_BLOCKS(group_no) = "insert into order_blocks
            (group_no, device_no, block, first_ms, last_ms)
        select g.group_no, r.device, r.block, r.first_ms, r.last_ms
        from {rows r: device bigint, block bigint, first_ms bigint, last_ms bigint}
        cross join group_changes g where g.group_no = $group_no
        on conflict (group_no, device_no, block) do update set
            first_ms = excluded.first_ms, last_ms = excluded.last_ms";
    WIDEN_BLOCKS(group_no) = "update order_blocks set
            first_ms = case when r.first_ms < order_blocks.first_ms
                then r.first_ms else order_blocks.first_ms end,
            last_ms = case when r.last_ms > order_blocks.last_ms
                then r.last_ms else order_blocks.last_ms end
        from {rows r: device bigint, block bigint, first_ms bigint, last_ms bigint}
        where order_blocks.group_no = $group_no and order_blocks.device_no = r.device
            and order_blocks.block = r.block";
}

/// Orders per block. The statements of this module and the layout contain the number, too.
pub(crate) const BLOCK_ORDERS: i64 = 64;

/// Returns the last order of the last complete block.
pub(crate) fn blocked_seq(last_seq: i64) -> i64 {
    last_seq / BLOCK_ORDERS * BLOCK_ORDERS
}

/// The changes of a transaction to the blocks of a group.
#[derive(Debug, Default)]
pub(crate) struct BlockChanges {
    /// New bounds of orders in complete blocks.
    widened: BTreeMap<(DeviceNo, i64), (UnixMs, UnixMs)>,
    /// Blocks that have become complete: their devices and their numbers.
    complete: Vec<[Value<'static>; 2]>,
}

impl BlockChanges {
    /// Records that an order of a complete block has a different trade start.
    pub(crate) fn widen(&mut self, device: DeviceNo, seq: i64, start: UnixMs) {
        let bounds =
            self.widened.entry((device, (seq - 1) / BLOCK_ORDERS)).or_insert((start, start));
        *bounds = (bounds.0.min(start), bounds.1.max(start));
    }

    /// Records that the orders of a device in complete blocks ended with `old` and now end with
    /// `new`.
    pub(crate) fn extend(&mut self, device: DeviceNo, old: i64, new: i64) {
        let blocks = old / BLOCK_ORDERS..new / BLOCK_ORDERS;
        self.complete.extend(blocks.map(|block| [device.into(), block.into()]));
    }

    /// Writes the changes, after the orders.
    pub(crate) async fn write(&self, write: &Write<'_>, group: GroupNo) -> Result<(), Error> {
        let of_group = [group.into()];
        if !self.widened.is_empty() {
            let rows = self.widened.iter().map(|((device, block), (first, last))| {
                [(*device).into(), (*block).into(), (*first).into(), (*last).into()]
            });
            write.execute_each(&WIDEN_BLOCKS, rows, &of_group).await?;
        }
        if self.complete.is_empty() {
            return Ok(());
        }
        let blocks = write.all_of(&BOUNDS, &self.complete, &of_group).await?.into_iter();
        let blocks = blocks.map(|BoundsRow { device_no, block, first_ms, last_ms }| {
            [device_no.into(), block.into(), first_ms.into(), last_ms.into()]
        });
        write.execute_each(&ADD_BLOCKS, blocks, &of_group).await
    }
}
