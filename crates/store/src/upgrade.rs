//! Upgrades the orders of the first layout: their heads get the current shape, and their sales are
//! counted.

use std::collections::HashSet;

use kiosque_model::{DeviceNo, GroupNo, UnixMs, Zone};

use crate::Error;
use crate::db::Write;
use crate::orders::record::sale::{sale_of, sale_time, upgraded_head};
use crate::sql::{Row, Value, row, statements};
use crate::sums::{SaleChange, Sums};

row! {
    #[derive(Clone, Copy)]
    struct OrderKey { group_no: GroupNo, device_no: DeviceNo, seq: i64 }
    struct OldOrder<'r> { key: OrderKey, head: &'r [u8], lines: &'r [u8] }
}

statements! {
    ORDERS_AFTER(group_no, device_no, seq, count) -> OldOrder<'_> = "select group_no, device_no,
            seq, head, lines
        from orders where (group_no, device_no, seq) > ($group_no, $device_no, $seq)
        order by group_no, device_no, seq limit $count";
    UPDATE_ORDER(group_no, device_no, seq, shape, head, sale_at_ms) = "update orders
        set shape = $shape, head = $head, sale_at_ms = $sale_at_ms
        where group_no = $group_no and device_no = $device_no and seq = $seq";
    PRODUCT_IDS() -> String = "select goods_id from products";
}

/// Orders that are upgraded between two writes of the sums.
const ORDERS_PER_STEP: i64 = 10_000;

/// An upgraded order that is not written yet.
struct UpgradedOrder {
    key: OrderKey,
    shape: i64,
    head: String,
    sale_at: Option<UnixMs>,
}

/// The context in which orders are upgraded.
struct OrderUpgrade<'a> {
    zone: &'a Zone,
    products: HashSet<String>,
}

/// Upgrades every order, all or nothing.
pub(crate) async fn orders(write: &Write<'_>, zone: &Zone) -> Result<(), Error> {
    let products = write.all(&PRODUCT_IDS, &[], |row| row.read()).await?;
    let upgrade = OrderUpgrade { zone, products: products.into_iter().collect() };
    let minimum = i64::MIN;
    let mut last =
        OrderKey { group_no: GroupNo(minimum), device_no: DeviceNo(minimum), seq: minimum };
    loop {
        let mut sums = Sums::default();
        let [group, device, seq] = last.values();
        let params = [group, device, seq, ORDERS_PER_STEP.into()];
        let page = write.all(&ORDERS_AFTER, &params, |row| upgrade.order(row, &mut sums)).await?;
        for order in &page {
            let [group, device, seq] = order.key.values();
            let (shape, head) = (order.shape.into(), order.head.as_str().into());
            let params = [group, device, seq, shape, head, order.sale_at.into()];
            write.execute(&UPDATE_ORDER, &params).await?;
        }
        sums.write(write).await?;
        match page.last() {
            Some(order) => last = order.key,
            None => return Ok(()),
        }
    }
}

impl OrderKey {
    fn values(self) -> [Value<'static>; 3] {
        [self.group_no.into(), self.device_no.into(), self.seq.into()]
    }
}

impl OrderUpgrade<'_> {
    fn order(&self, row: &Row<'_>, sums: &mut Sums) -> Result<UpgradedOrder, Error> {
        let OldOrder { key, head, lines } = row.read()?;
        let (shape, head) = upgraded_head(head)?;
        let mut upgraded = UpgradedOrder { key, shape, head, sale_at: None };
        let head = upgraded.head.as_bytes();
        let Some(time) = sale_time(head)? else { return Ok(upgraded) };
        let paid = self.zone.parse_first(&time).map_err(|error| Error::Data(error.to_string()))?;
        let mut sale = sale_of(head, lines, paid)?;
        for sold in &mut sale.goods {
            // Products have a name of their own; only other goods use the name in the order.
            sold.name = sold.name.take().filter(|_| !self.products.contains(&sold.goods_id));
        }
        sums.count(self.zone, (key.group_no, key.device_no), &sale, SaleChange::Added);
        sums.record_goods_names(key.group_no, &sale);
        upgraded.sale_at = Some(paid);
        Ok(upgraded)
    }
}
