//! The aisles of the devices that a group owns now.

use std::marker::PhantomData;

use kiosque_model::{Claim, Minor};

use super::device_part::PartRows;
use super::{
    AnswerContext, DashboardQuery, DevicePart, DevicesRead, Report, Request, RowContext, SalesBy,
};
use crate::db::{Bound, Step};
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, row, statements};
use crate::{Error, Refused, Store};

row! {
    struct LineRow<'r> {
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
    AISLES(group_no, now_ms, after, size) -> LineRow<'_> = "select o.device_code, d.device_name,
            a.aisle_code, a.cabinet_code, a.layer, a.goods_id, p.goods_name, p.currency, a.price,
            a.show_price, a.max_stock, a.curr_stock, a.enabled, a.broken
        from (
            select device_no, device_code from device_owners
            where group_no = $group_no and device_code > $after and since_ms <= $now_ms
                and until_ms > $now_ms and listed
            order by device_code limit $size
        ) o
        join devices d on d.device_no = o.device_no
        left join aisles a on a.device_no = o.device_no
        left join products p on p.goods_id = a.goods_id
        order by o.device_code, a.cabinet_code, a.layer, a.position";
    AISLES_OF(group_no, now_ms) -> LineRow<'_> = "select o.device_code, d.device_name,
            a.aisle_code, a.cabinet_code, a.layer, a.goods_id, p.goods_name, p.currency, a.price,
            a.show_price, a.max_stock, a.curr_stock, a.enabled, a.broken
        from {rows r: code text}
        cross join device_owners o
        join devices d on d.device_no = o.device_no
        left join aisles a on a.device_no = o.device_no
        left join products p on p.goods_id = a.goods_id
        where o.group_no = $group_no and o.device_code = r.code and o.since_ms <= $now_ms
            and o.until_ms > $now_ms and o.listed
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
    /// Visits the aisles of a part of the enabled devices that the group owns now: by device code,
    /// cabinet and layer.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_aisles<A, V>(
        &self,
        claim: Claim,
        query: DashboardQuery,
        part: DevicePart,
        visit: V,
    ) -> Result<DevicesRead<A>, Refused>
    where
        A: Default + Send + 'static,
        V: Fn(&mut A, DeviceLine<'_>) -> Result<(), Error> + Send + Sync + 'static,
    {
        self.report(claim, query, AislesReport { part, visit, visited: PhantomData }).await
    }
}

struct AislesReport<A, V> {
    part: DevicePart,
    visit: V,
    visited: PhantomData<fn() -> A>,
}

impl<A, V> Report for AislesReport<A, V>
where
    A: Default + Send + 'static,
    V: Fn(&mut A, DeviceLine<'_>) -> Result<(), Error> + Send + Sync + 'static,
{
    type Rows = PartRows<A>;
    type Step = ();
    type Answer = DevicesRead<A>;
    const SALES: SalesBy = SalesBy::Nothing;

    fn steps<'a>(&'a self, request: &'a Request, group: HintedGroup) -> Vec<Step<'a, ()>> {
        let (group, now) = (group.into(), request.now.into());
        let bound = if request.is_of_all_devices() {
            let (after, size) = (self.part.after.as_str().into(), self.part.size());
            Bound::new(&AISLES, [group, now, after, size])
        } else {
            Bound::new(&AISLES_OF, [group, now]).with_rows(self.part.filter_rows(request))
        };
        vec![bound.step(())]
    }

    fn on_row(
        &self,
        rows: &mut Self::Rows,
        (): &(),
        row: &Row<'_>,
        _: &RowContext<'_>,
    ) -> Result<(), Error> {
        let line: LineRow<'_> = row.read()?;
        rows.visit(line.device_code);
        (self.visit)(&mut rows.devices, line.into())
    }

    fn answer(
        self,
        rows: Self::Rows,
        context: &AnswerContext<'_>,
    ) -> Result<Self::Answer, Refused> {
        Ok(rows.finish(&self.part, context.request))
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
