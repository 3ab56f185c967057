//! Brings orders of the first layout up to date: their heads get today's shape, and their sales are
//! counted.

use std::collections::HashSet;

use kiosque_model::{DeviceNo, GroupNo, UnixMs, Zone};

use crate::Error;
use crate::db::Write;
use crate::record::RecordShape;
use crate::sql::{Row, Value, statements};
use crate::sums::{Change, Sums};

statements! {
    OLD = "select group_no, device_no, seq, head, lines from orders
        where (group_no, device_no, seq) > ($1, $2, $3)
        order by group_no, device_no, seq limit $4";
    RENEW = "update orders set shape = $4, head = $5, sale_at_ms = $6
        where group_no = $1 and device_no = $2 and seq = $3";
    PRODUCT_IDS = "select goods_id from products";
}

/// Orders that are renewed between two writes of the sums.
const AT_A_TIME: i64 = 10_000;

/// An order that has been renewed and not written yet.
struct Renewed {
    key: [i64; 3],
    shape: i64,
    head: String,
    sale_at: Option<UnixMs>,
}

/// What orders are renewed with.
struct Renewal<'a> {
    zone: &'a Zone,
    shape: &'a dyn RecordShape,
    products: HashSet<String>,
}

/// Renews every order, all or nothing.
pub(crate) async fn orders(
    write: &Write<'_>,
    zone: &Zone,
    shape: &dyn RecordShape,
) -> Result<(), Error> {
    let products = write.all(&PRODUCT_IDS, &[], |row| Ok(row.text(0)?.to_owned())).await?;
    let renewal = Renewal { zone, shape, products: products.into_iter().collect() };
    let mut from = [i64::MIN; 3];
    loop {
        let mut sums = Sums::default();
        let [group, device, seq] = from.map(Value::Int);
        let params = [group, device, seq, AT_A_TIME.into()];
        let some = write.all(&OLD, &params, |row| renewal.renew(row, &mut sums)).await?;
        for order in &some {
            let [group, device, seq] = order.key.map(Value::Int);
            let sale_at = order.sale_at.map(|at| at.0).into();
            let params =
                [group, device, seq, order.shape.into(), order.head.as_str().into(), sale_at];
            write.execute(&RENEW, &params).await?;
        }
        sums.write(write).await?;
        match some.last() {
            Some(last) => from = last.key,
            None => return Ok(()),
        }
    }
}

impl Renewal<'_> {
    fn renew(&self, row: &Row<'_>, sums: &mut Sums) -> Result<Renewed, Error> {
        let key = [row.int(0)?, row.int(1)?, row.int(2)?];
        let (shape, head) = self.shape.renewed(row.bytes(3)?)?;
        let mut renewed = Renewed { key, shape, head, sale_at: None };
        let head = renewed.head.as_bytes();
        let Some(time) = self.shape.sale_time(head, row.bytes(4)?)? else { return Ok(renewed) };
        let paid = self.zone.parse_first(&time).map_err(|error| Error::Data(error.to_string()))?;
        let mut sale = self.shape.sale(head, row.bytes(4)?, paid)?;
        for sold in &mut sale.goods {
            // A product's name is its own; only other goods go by the name they came with.
            sold.name = sold.name.take().filter(|_| !self.products.contains(&sold.goods_id));
        }
        let group = GroupNo(key[0]);
        sums.count(self.zone, (group, DeviceNo(key[1])), &sale, Change::Comes);
        sums.name(group, &sale);
        renewed.sale_at = Some(paid);
        Ok(renewed)
    }
}
