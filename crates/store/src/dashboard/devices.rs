//! The devices of a dashboard: those that the group owns now, with their aisles.

use kiosque_model::{DeviceNo, Minor, Presented, UnixMs};

use super::{DashboardAsk, View};
use crate::devices::{Device, Listing, OnlineSince};
use crate::sql::{Row, statements};
use crate::{Error, Refused, Store};

statements! {
    LISTED = "select device_no from device_owners
        where group_no = $1 and since_ms <= $2 and until_ms > $2 and listed";
    ACTIVE = "select device_no, last_active_ms from ledger where group_no = $1";
    AISLES = "select o.device_no, o.device_code, d.device_name, a.cabinet_code, a.layer,
            a.aisle_code, a.goods_id, p.goods_name, p.currency, a.price, a.show_price,
            a.max_stock, a.curr_stock, a.enabled, a.broken
        from device_owners o
        join devices d on d.device_no = o.device_no
        left join aisles a on a.device_no = o.device_no
        left join products p on p.goods_id = a.goods_id
        where o.group_no = $1 and o.since_ms <= $2 and o.until_ms > $2 and o.listed
        order by o.device_code, a.cabinet_code, a.layer, a.position";
}

/// One aisle of a device, or a device without any. Cabinet by cabinet, layer by layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceLine<'a> {
    /// `deviceCode`.
    pub device_code: &'a str,
    /// `deviceName`.
    pub device_name: &'a str,
    /// The aisle, unless the device has none.
    pub aisle: Option<Aisle<'a>>,
}

/// An aisle, borrowed from its row; stock as last told.
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
    /// The product's name now.
    pub goods_name: &'a str,
    /// The product's currency, of both prices.
    pub currency: &'a str,
    /// `price`, minor units.
    pub price: Minor,
    /// `showPrice`, minor units.
    pub show_price: Minor,
    /// `maxStock`.
    pub max_stock: i64,
    /// `currStock`.
    pub curr_stock: i64,
    /// Whether it sells.
    pub enabled: bool,
    /// Whether it is out of order.
    pub broken: bool,
}

impl Store {
    /// Visits every device that the group owns now, by code.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_profile<A: Default + Send + 'static>(
        &self,
        presented: &Presented,
        now: UnixMs,
        ask: DashboardAsk,
        visit: impl Fn(&mut A, Device<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<A, Refused> {
        self.viewed(presented, now, ask, move |view, _| {
            let listing = Listing::of(view.read, view.scope, view.activity)?;
            let mut found = A::default();
            listing.each(view.read, view.now, None, |number, device| {
                if view.shows(number) { visit(&mut found, device) } else { Ok(()) }
            })?;
            Ok(found)
        })
        .await
    }

    /// Visits the aisles of every device that the group owns now.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_aisles<A: Default + Send + 'static>(
        &self,
        presented: &Presented,
        now: UnixMs,
        ask: DashboardAsk,
        visit: impl Fn(&mut A, DeviceLine<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<A, Refused> {
        self.viewed(presented, now, ask, move |view, _| {
            let mut found = A::default();
            view.read.each(&AISLES, &[view.group(), view.now.0.into()], |row| {
                if view.shows(DeviceNo(row.int(0)?)) {
                    visit(&mut found, line(row)?)?;
                }
                Ok(())
            })?;
            Ok(found)
        })
        .await
    }
}

/// How many devices there are now, and how many of them are online.
pub(super) fn count(view: &View<'_>, online: OnlineSince) -> Result<(i64, i64), Error> {
    // Two scans and no search: a join would look every device up in the ledger.
    let mut devices = view
        .read
        .all(&LISTED, &[view.group(), view.now.0.into()], |row| Ok(DeviceNo(row.int(0)?)))?;
    devices.retain(|device| view.shows(*device));
    devices.sort_unstable();
    let mut online_devices = 0;
    view.read.each(&ACTIVE, &[view.group()], |row| {
        let device = DeviceNo(row.int(0)?);
        if devices.binary_search(&device).is_ok() {
            let account = (view.scope.group(), device);
            let last_active = view.activity.merged(account, row.maybe_int(1)?.map(UnixMs));
            online_devices += i64::from(online.holds(last_active));
        }
        Ok(())
    })?;
    Ok((i64::try_from(devices.len()).unwrap_or(i64::MAX), online_devices))
}

fn line<'a>(row: &'a Row<'_>) -> Result<DeviceLine<'a>, Error> {
    let aisle = match row.maybe_text(5)? {
        None => None,
        Some(code) => Some(Aisle {
            cabinet_code: row.text(3)?,
            layer: row.int(4)?,
            code,
            goods_id: row.text(6)?,
            goods_name: row.maybe_text(7)?.unwrap_or_default(),
            currency: row.maybe_text(8)?.unwrap_or_default(),
            price: Minor(row.int(9)?),
            show_price: Minor(row.int(10)?),
            max_stock: row.int(11)?,
            curr_stock: row.int(12)?,
            enabled: row.flag(13)?,
            broken: row.flag(14)?,
        }),
    };
    Ok(DeviceLine { device_code: row.text(1)?, device_name: row.text(2)?, aisle })
}
