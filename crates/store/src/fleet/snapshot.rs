//! The part of the fleet that incoming orders need.

use std::collections::{HashMap, HashSet};

use kiosque_model::GroupNo;

use crate::db::{Deadline, Read};
use crate::error::Error;
use crate::metadata;
use crate::owners::DeviceGroups;
use crate::sql::statements;
use crate::views::FleetView;

statements! {
    PRODUCT_NAMES() -> (String, String) = "select goods_id, goods_name from products";
    DEVICE_CODES() -> String = "select device_code from devices";
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
    /// Returns the name of every product by `goodsId`, for order lines without a name.
    ///
    /// # Errors
    /// The store failed.
    pub async fn product_names(self) -> Result<HashMap<String, String>, Error> {
        self.0.db.read(Deadline::None, product_names).await
    }

    /// Returns the groups of every device.
    ///
    /// # Errors
    /// The store failed.
    pub async fn groups_by_device(self) -> Result<DeviceGroups, Error> {
        self.0.db.read(Deadline::None, groups_by_device).await
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
        let read = async |read: &Read<'_>| {
            Ok(FleetSnapshot {
                version: Some(metadata::last(read, metadata::FLEET).await?),
                product_names: product_names(read).await?,
                groups_by_device: groups_by_device(read).await?,
            })
        };
        self.0.db.read(Deadline::OfRequest, read).await.map(Some)
    }

    /// Returns the code of every device.
    ///
    /// # Errors
    /// The store failed.
    pub async fn device_codes(self) -> Result<HashSet<String>, Error> {
        let codes = async |read: &Read<'_>| read.all(&DEVICE_CODES, &[]).await;
        Ok(self.0.db.read(Deadline::None, codes).await?.into_iter().collect())
    }
}

async fn product_names(read: &Read<'_>) -> Result<HashMap<String, String>, Error> {
    Ok(read.all(&PRODUCT_NAMES, &[]).await?.into_iter().collect())
}

async fn groups_by_device(read: &Read<'_>) -> Result<DeviceGroups, Error> {
    let mut groups = DeviceGroups::default();
    for sql in [&GROUPS_OF_REPLACED_MOVES, &GROUPS_BY_DEVICE] {
        groups.extend(read.all(sql, &[]).await?);
    }
    Ok(groups)
}
