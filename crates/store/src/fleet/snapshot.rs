//! The part of the fleet that incoming orders need.

use std::collections::HashMap;

use kiosque_model::GroupNo;

use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::metadata;
use crate::owners::DeviceGroups;
use crate::sql::statements;
use crate::views::FleetView;

statements! {
    PRODUCT_NAMES() -> (String, String) = "select goods_id, goods_name from products";
    GROUPS_BY_DEVICE() -> (String, GroupNo) = "select device_code, group_no
        from device_owners order by since_ms";
    /// The groups that have orders of a device but never owned it: its move was replaced.
    GROUPS_OF_REPLACED_MOVES() -> (String, GroupNo) = "select l.device_code, l.group_no
        from ledger l
        where not exists (select 1 from device_owners o
            where o.group_no = l.group_no and o.device_code = l.device_code)";
}

/// The part of the fleet that incoming orders need, from one snapshot.
#[derive(Debug, Default)]
pub struct FleetSnapshot {
    version: Option<i64>,
    /// The name of every product, by `goodsId`.
    pub product_names: HashMap<String, String>,
    /// The groups of every device.
    pub groups_by_device: DeviceGroups,
}

impl FleetView<'_> {
    /// Returns a snapshot of the fleet.
    ///
    /// # Errors
    /// The store failed.
    pub async fn snapshot(self) -> Result<FleetSnapshot, Error> {
        self.0.db.read(Deadline::None, snapshot).await
    }

    /// Returns a snapshot of the fleet if owners of devices or names of products have changed since
    /// `known`. Without a change it only reads a version counter.
    ///
    /// # Errors
    /// The store failed.
    pub async fn newer_snapshot(
        self,
        known: &FleetSnapshot,
    ) -> Result<Option<FleetSnapshot>, Error> {
        if Some(metadata::fleet_version_now(&self.0.db).await?) == known.version {
            return Ok(None);
        }
        self.0.db.read(Deadline::OfRequest, snapshot).await.map(Some)
    }
}

async fn snapshot(read: &Read<'_>) -> Result<FleetSnapshot, Error> {
    let mut groups_by_device = DeviceGroups::default();
    for sql in [&GROUPS_OF_REPLACED_MOVES, &GROUPS_BY_DEVICE] {
        groups_by_device.extend(read.all(sql, &[]).await?);
    }
    let product_names = read.all(&PRODUCT_NAMES, &[]).await?.into_iter().collect();
    let version = Some(metadata::last(read, metadata::FLEET).await?);
    Ok(FleetSnapshot { version, product_names, groups_by_device })
}
