//! The aisles of the devices that a group owns now.

use std::marker::PhantomData;

use kiosque_model::{Claim, DeviceNo, Minor};

use super::{AnswerContext, DashboardQuery, Report, Request, RowContext, SalesBy};
use crate::db::{Bound, Step};
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, row, statements};
use crate::{Error, Refused, Store};

row! {
    struct LineRow<'r> {
        device_no: DeviceNo,
        device_code: &'r str,
        device_name: &'r str,
        /// `None` for a device without aisles.
        aisle: Option<AisleRow<'r>>,
    }
    struct AisleRow<'r> {
        aisle_code: &'r str,
        cabinet_code: &'r str,
        layer: i64,
        goods_id: &'r str,
        goods_name: Option<&'r str>,
        currency: Option<&'r str>,
        price: Minor,
        show_price: Minor,
        max_stock: i64,
        curr_stock: i64,
        enabled: bool,
        broken: bool,
    }
}

statements! {
    AISLES(group_no, now_ms) -> LineRow<'_> = "select o.device_no, o.device_code, d.device_name,
            a.aisle_code, a.cabinet_code, a.layer, a.goods_id, p.goods_name, p.currency, a.price,
            a.show_price, a.max_stock, a.curr_stock, a.enabled, a.broken
        from device_owners o
        join devices d on d.device_no = o.device_no
        left join aisles a on a.device_no = o.device_no
        left join products p on p.goods_id = a.goods_id
        where o.group_no = $group_no and o.since_ms <= $now_ms and o.until_ms > $now_ms
            and o.listed
        order by o.device_code, a.cabinet_code, a.layer, a.position";
}

/// One aisle of a device, or a device without aisles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceLine<'a> {
    /// `deviceCode`.
    pub device_code: &'a str,
    /// `deviceName`.
    pub device_name: &'a str,
    /// The aisle, unless the device has none.
    pub aisle: Option<Aisle<'a>>,
}

/// An aisle, borrowed from its row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aisle<'a> {
    /// `cabinetCode`.
    pub cabinet_code: &'a str,
    /// `layer`.
    pub layer: i64,
    /// `code`.
    pub code: &'a str,
    /// `goodsId`.
    pub goods_id: &'a str,
    /// The present name of the product.
    pub goods_name: &'a str,
    /// The currency of the product, and of both prices.
    pub currency: &'a str,
    /// `price`, minor units.
    pub price: Minor,
    /// `showPrice`, minor units.
    pub show_price: Minor,
    /// `maxStock`.
    pub max_stock: i64,
    /// `currStock`, as last reported.
    pub curr_stock: i64,
    /// Whether it sells.
    pub enabled: bool,
    /// Whether it is out of order.
    pub broken: bool,
}

impl Store {
    /// Visits the aisles of the enabled devices that the group owns now: by device code, cabinet
    /// and layer.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_aisles<A, V>(
        &self,
        claim: Claim,
        query: DashboardQuery,
        visit: V,
    ) -> Result<A, Refused>
    where
        A: Default + Send + 'static,
        V: Fn(&mut A, DeviceLine<'_>) -> Result<(), Error> + Send + Sync + 'static,
    {
        self.report(claim, query, AislesReport { visit, visited: PhantomData }).await
    }
}

struct AislesReport<A, V> {
    visit: V,
    visited: PhantomData<fn() -> A>,
}

impl<A, V> Report for AislesReport<A, V>
where
    A: Default + Send + 'static,
    V: Fn(&mut A, DeviceLine<'_>) -> Result<(), Error> + Send + Sync + 'static,
{
    type Rows = A;
    type Step = ();
    type Answer = A;
    const SALES: SalesBy = SalesBy::Nothing;

    fn steps<'a>(&'a self, request: &'a Request, group: HintedGroup) -> Vec<Step<'a, ()>> {
        vec![Bound::new(&AISLES, [group.into(), request.now.into()]).step(())]
    }

    fn on_row(
        &self,
        visited: &mut A,
        (): &(),
        row: &Row<'_>,
        context: &RowContext<'_>,
    ) -> Result<(), Error> {
        let line: LineRow<'_> = row.read()?;
        if context.selects(line.device_no) {
            (self.visit)(visited, line.into())?;
        }
        Ok(())
    }

    fn answer(self, visited: A, _: &AnswerContext<'_>) -> Result<A, Refused> {
        Ok(visited)
    }
}

impl<'r> From<LineRow<'r>> for DeviceLine<'r> {
    fn from(row: LineRow<'r>) -> Self {
        let aisle = row.aisle.map(|aisle| Aisle {
            cabinet_code: aisle.cabinet_code,
            layer: aisle.layer,
            code: aisle.aisle_code,
            goods_id: aisle.goods_id,
            goods_name: aisle.goods_name.unwrap_or_default(),
            currency: aisle.currency.unwrap_or_default(),
            price: aisle.price,
            show_price: aisle.show_price,
            max_stock: aisle.max_stock,
            curr_stock: aisle.curr_stock,
            enabled: aisle.enabled,
            broken: aisle.broken,
        });
        DeviceLine { device_code: row.device_code, device_name: row.device_name, aisle }
    }
}
