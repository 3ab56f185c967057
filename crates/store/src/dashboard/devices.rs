//! The devices of a dashboard: those that the group owns now, with their aisles.

use std::marker::PhantomData;

use kiosque_model::{Claim, DeviceNo, GroupNo, Minor, UnixMs};

use super::{DashboardQuery, Grain, Report, ReportContext, ReportQuery, RowContext};
use crate::db::{Bound, Step};
use crate::devices::{Device, OnlineSince, Owner, bind_listed, bind_owner};
use crate::scoped_query::HintedGroup;
use crate::sql::{Row, statements};
use crate::{Error, Refused, Store};

statements! {
    LISTED = "select device_no, since_ms, until_ms from device_owners
        where group_no = $1 and until_ms > $2 and listed";
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
    pub async fn device_profile<A, V>(
        &self,
        claim: Claim,
        ask: DashboardQuery,
        visit: V,
    ) -> Result<A, Refused>
    where
        A: Default + Send + 'static,
        V: Fn(&mut A, Device<'_>) -> Result<(), Error> + Send + Sync + 'static,
    {
        self.dashboard(claim, ask, Profile { visit, found: PhantomData }).await
    }

    /// Visits the aisles of every device that the group owns now.
    ///
    /// # Errors
    /// `TokenInvalid`, `GroupClosed`, `OutOfScope`, or the store failed.
    pub async fn device_aisles<A, V>(
        &self,
        claim: Claim,
        ask: DashboardQuery,
        visit: V,
    ) -> Result<A, Refused>
    where
        A: Default + Send + 'static,
        V: Fn(&mut A, DeviceLine<'_>) -> Result<(), Error> + Send + Sync + 'static,
    {
        self.dashboard(claim, ask, Aisles { visit, found: PhantomData }).await
    }
}

struct Profile<A, V> {
    visit: V,
    found: PhantomData<fn() -> A>,
}

/// A statement of the profile.
enum ProfileStep {
    Owner,
    Device,
}

impl<A, V> Report for Profile<A, V>
where
    A: Default + Send + 'static,
    V: Fn(&mut A, Device<'_>) -> Result<(), Error> + Send + Sync + 'static,
{
    type Found = (Option<Owner>, A);
    type Step = ProfileStep;
    type Answer = A;
    const GRAIN: Grain = Grain::None;

    fn steps<'a>(
        &'a self,
        view: &'a ReportQuery,
        group: HintedGroup,
    ) -> Vec<Step<'a, ProfileStep>> {
        vec![
            bind_owner(group, view.now).step(ProfileStep::Owner),
            bind_listed(group, view.now, None).step(ProfileStep::Device),
        ]
    }

    fn on_row(
        &self,
        seen: &RowContext<'_>,
        (owner, found): &mut Self::Found,
        step: &ProfileStep,
        row: &Row<'_>,
    ) -> Result<(), Error> {
        match (step, owner) {
            (ProfileStep::Owner, owner) => *owner = Some(Owner::read(row)?),
            (ProfileStep::Device, Some(owner)) if seen.shows(row.read()?) => {
                (self.visit)(found, owner.device(row, &seen.view.activity)?)?;
            }
            (ProfileStep::Device, _) => {}
        }
        Ok(())
    }

    fn answer(self, _: ReportContext<'_>, (_, found): Self::Found) -> Result<A, Refused> {
        Ok(found)
    }
}

struct Aisles<A, V> {
    visit: V,
    found: PhantomData<fn() -> A>,
}

impl<A, V> Report for Aisles<A, V>
where
    A: Default + Send + 'static,
    V: Fn(&mut A, DeviceLine<'_>) -> Result<(), Error> + Send + Sync + 'static,
{
    type Found = A;
    type Step = ();
    type Answer = A;
    const GRAIN: Grain = Grain::None;

    fn steps<'a>(&'a self, view: &'a ReportQuery, group: HintedGroup) -> Vec<Step<'a, ()>> {
        vec![Bound::new(&AISLES, [group.into(), view.now.into()]).step(())]
    }

    fn on_row(
        &self,
        seen: &RowContext<'_>,
        found: &mut A,
        (): &(),
        row: &Row<'_>,
    ) -> Result<(), Error> {
        if seen.shows(DeviceNo(row.int(0)?)) {
            (self.visit)(found, line(row)?)?;
        }
        Ok(())
    }

    fn answer(self, _: ReportContext<'_>, found: A) -> Result<A, Refused> {
        Ok(found)
    }
}

/// The devices of a group that are counted, and when each was last active by its row.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    listed: Vec<Listed>,
    /// Whether those are in order: they are put so when all of them have come.
    is_in_order: bool,
}

/// A device while it is the group's.
#[derive(Clone, Copy, Debug)]
struct Listed {
    device: DeviceNo,
    since: UnixMs,
    until: UnixMs,
    last_active: Option<UnixMs>,
}

/// A statement that devices are counted with.
#[derive(Clone, Copy)]
pub(super) enum CountStep {
    Listed,
    LastActive,
}

/// Returns the statements that read the devices to count. Two scans and no search: a join would
/// look every device up in the ledger.
pub(super) fn count_steps<'a>(
    view: &ReportQuery,
    group: HintedGroup,
) -> impl Iterator<Item = Step<'a, CountStep>> {
    let listed = Bound::new(&LISTED, [group.into(), view.now.into()]);
    let last_active = Bound::new(&ACTIVE, [group.into()]);
    [listed.step(CountStep::Listed), last_active.step(CountStep::LastActive)].into_iter()
}

impl Counted {
    /// Adds a row of a step.
    pub(super) fn on_row(
        &mut self,
        seen: &RowContext<'_>,
        step: &CountStep,
        row: &Row<'_>,
    ) -> Result<(), Error> {
        let device = DeviceNo(row.int(0)?);
        if let CountStep::Listed = step {
            if seen.shows(device) {
                let (since, until) = (UnixMs(row.int(1)?), UnixMs(row.int(2)?));
                self.listed.push(Listed { device, since, until, last_active: None });
            }
            return Ok(());
        }
        if !self.is_in_order {
            self.listed.sort_unstable_by_key(|listed| listed.device);
            self.is_in_order = true;
        }
        let last_active = row.maybe_int(1)?.map(UnixMs);
        // One that leaves and comes back is there twice.
        let begins = self.listed.partition_point(|listed| listed.device < device);
        let from_it = self.listed.iter_mut().skip(begins);
        for listed in from_it.take_while(|listed| listed.device == device) {
            listed.last_active = last_active;
        }
        Ok(())
    }

    /// How many devices the group owns now, and how many of those are online.
    pub(super) fn now(
        &self,
        view: &ReportQuery,
        group: GroupNo,
        online: OnlineSince,
    ) -> (i64, i64) {
        let owned = |listed: &&Listed| listed.since <= view.now && view.now < listed.until;
        let (mut devices, mut online_devices) = (0, 0);
        for listed in self.listed.iter().filter(owned) {
            let last_active = view.activity.merged((group, listed.device), listed.last_active);
            devices += 1;
            online_devices += i64::from(online.holds(last_active));
        }
        (devices, online_devices)
    }

    pub(super) fn len(&self) -> usize {
        self.listed.len()
    }
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
