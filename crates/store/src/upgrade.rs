//! Upgrades the orders of the first layout: their heads get the current shape, and their sales are
//! counted.

use std::collections::HashSet;

use kiosque_model::{DeviceNo, GroupNo, UnixMs, Zone};

use crate::Error;
use crate::db::Write;
use crate::record::RecordShape;
use crate::sql::{Row, Value, statements};
use crate::sums::{SaleChange, Sums};

statements! {
    ORDERS_AFTER = "select group_no, device_no, seq, head, lines from orders
        where (group_no, device_no, seq) > ($1, $2, $3)
        order by group_no, device_no, seq limit $4";
    UPDATE_ORDER = "update orders set shape = $4, head = $5, sale_at_ms = $6
        where group_no = $1 and device_no = $2 and seq = $3";
    PRODUCT_IDS = "select goods_id from products";
}

/// Orders that are upgraded between two writes of the sums.
const ORDERS_PER_STEP: i64 = 10_000;

/// An upgraded order that is not written yet.
struct UpgradedOrder {
    key: [i64; 3],
    shape: i64,
    head: String,
    sale_at: Option<UnixMs>,
}

/// The context in which orders are upgraded.
struct OrderUpgrade<'a> {
    zone: &'a Zone,
    shape: &'a dyn RecordShape,
    products: HashSet<String>,
}

/// Upgrades every order, all or nothing.
pub(crate) async fn orders(
    write: &Write<'_>,
    zone: &Zone,
    shape: &dyn RecordShape,
) -> Result<(), Error> {
    let products = write.all(&PRODUCT_IDS, &[], |row| Ok(row.text(0)?.to_owned())).await?;
    let upgrade = OrderUpgrade { zone, shape, products: products.into_iter().collect() };
    let mut from = [i64::MIN; 3];
    loop {
        let mut sums = Sums::default();
        let [group, device, seq] = from.map(Value::Int);
        let params = [group, device, seq, ORDERS_PER_STEP.into()];
        let page = write.all(&ORDERS_AFTER, &params, |row| upgrade.order(row, &mut sums)).await?;
        for order in &page {
            let [group, device, seq] = order.key.map(Value::Int);
            let sale_at = order.sale_at.map(|at| at.0).into();
            let params =
                [group, device, seq, order.shape.into(), order.head.as_str().into(), sale_at];
            write.execute(&UPDATE_ORDER, &params).await?;
        }
        sums.write(write).await?;
        match page.last() {
            Some(last) => from = last.key,
            None => return Ok(()),
        }
    }
}

impl OrderUpgrade<'_> {
    fn order(&self, row: &Row<'_>, sums: &mut Sums) -> Result<UpgradedOrder, Error> {
        let key = [row.int(0)?, row.int(1)?, row.int(2)?];
        let (shape, head) = self.shape.renewed(row.bytes(3)?)?;
        let mut upgraded = UpgradedOrder { key, shape, head, sale_at: None };
        let head = upgraded.head.as_bytes();
        let Some(time) = self.shape.sale_time(head, row.bytes(4)?)? else { return Ok(upgraded) };
        let paid = self.zone.parse_first(&time).map_err(|error| Error::Data(error.to_string()))?;
        let mut sale = self.shape.sale(head, row.bytes(4)?, paid)?;
        for sold in &mut sale.goods {
            // Products have a name of their own; only other goods use the name in the order.
            sold.name = sold.name.take().filter(|_| !self.products.contains(&sold.goods_id));
        }
        let group = GroupNo(key[0]);
        sums.count(self.zone, (group, DeviceNo(key[1])), &sale, SaleChange::Added);
        sums.record_goods_names(group, &sale);
        upgraded.sale_at = Some(paid);
        Ok(upgraded)
    }
}
