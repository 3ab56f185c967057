//! Deletes a device that has no orders: its row, its aisles, its owners and its ledgers.

use kiosque_contract::AuditDetails;
use kiosque_model::audit::AuditEvent;
use kiosque_model::{ActedBy, DeviceCode};

use super::device_rows;
use crate::accounts::group_id;
use crate::audit::{self, Act};
use crate::db::{Deadline, Write};
use crate::error::Error;
use crate::histories::Opening;
use crate::owners::Owners;
use crate::sql::statements;
use crate::views::FleetView;
use crate::{metadata, versions};

statements! {
    ORDERS_OF(group_no, device_code) -> i64 = "select last_seq - first_seq + 1 from ledger
        where group_no = $group_no and device_code = $device_code";
    DELETE_AISLES_OF(device_no) = "delete from aisles where device_no = $device_no";
    DELETE_AISLE_TEXT(device_no) = "delete from aisle_texts where device_no = $device_no";
    DELETE_DEVICE(device_no) = "delete from devices where device_no = $device_no";
    DELETE_OWNERS(group_no, device_code) = "delete from device_owners
        where group_no = $group_no and device_code = $device_code";
    DELETE_LEDGER(group_no, device_code) = "delete from ledger
        where group_no = $group_no and device_code = $device_code";
}

/// Why a device is not deleted.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// No device has this code.
    #[error("no device {0} is known")]
    Unknown(DeviceCode),
    /// It has orders, which stay with their groups.
    #[error(
        "device {code} has {}, which cannot be deleted; to hide the device, apply a fleet with \
         `enabled = false` for it",
        kiosque_model::counted(*.orders, "order")
    )]
    HasOrders {
        /// The device.
        code: DeviceCode,
        /// The number of its orders in all groups.
        orders: i64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] Error),
}

impl FleetView<'_> {
    /// Deletes a device that has no orders in any group, and records it in the audit trail.
    ///
    /// # Errors
    /// See [`DeleteError`].
    pub async fn delete_device(self, code: DeviceCode, by: ActedBy) -> Result<(), DeleteError> {
        let opening = self.0.opening;
        let delete = async move |write: &Write<'_>| delete(write, &code, &by, opening).await;
        self.0.db.write(Deadline::OfRequest, delete).await
    }
}

async fn delete(
    write: &Write<'_>,
    code: &DeviceCode,
    by: &ActedBy,
    opening: Opening,
) -> Result<(), DeleteError> {
    metadata::lock(write, metadata::FLEET).await?;
    let mut owners = Owners::default();
    owners.load(write, std::iter::once(code.as_str())).await?;
    let device = owners.get(code.as_str()).ok_or_else(|| DeleteError::Unknown(code.clone()))?;
    let groups = device.groups();
    // From here on, no order of the device is stored.
    for group in groups {
        versions::lists_change(write, *group, opening).await?;
    }
    let mut orders = 0;
    for group in groups {
        let key = [(*group).into(), code.as_str().into()];
        orders += write.one::<i64>(&ORDERS_OF, &key).await?.unwrap_or(0);
    }
    if orders > 0 {
        return Err(DeleteError::HasOrders { code: code.clone(), orders });
    }
    write.execute(&DELETE_AISLES_OF, &[device.device.into()]).await?;
    write.execute(&DELETE_AISLE_TEXT, &[device.device.into()]).await?;
    write.execute(&DELETE_DEVICE, &[device.device.into()]).await?;
    for group in groups {
        let key = [(*group).into(), code.as_str().into()];
        write.execute(&DELETE_OWNERS, &key).await?;
        write.execute(&DELETE_LEDGER, &key).await?;
    }
    device_rows::count_devices(write, groups.iter().copied()).await?;
    metadata::raise(write, metadata::DELETED_DEVICES, device.device.0).await?;
    metadata::set(write, metadata::FLEET, opening.version(write)).await?;
    let group_id = match device.last_owner() {
        Some(group) => group_id(write, group).await?,
        None => None,
    };
    let device_code = Some(code.as_str().to_owned());
    let details = AuditDetails { device_code, group_id, ..AuditDetails::default() };
    Ok(audit::act(write, &Act::new(AuditEvent::DeviceDeleted, details), by).await?)
}
