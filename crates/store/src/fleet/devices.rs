//! Devices of a fleet, their owners and their aisles.

use kiosque_model::DeviceNo;
use kiosque_model::fleet::{Aisle, DeviceEntry};

use super::{EntryChange, FleetApplier};
use crate::Error;
use crate::owners::{self, OwnedDevice, OwnerChange};
use crate::sql::{Row, Value, statements};

statements! {
    DEVICE_BY_CODE = "select device_no, device_name, device_model, address, enabled, created_at_ms,
            total_curr_stock from devices where device_code = $1";
    NEXT_DEVICE = "select coalesce(max(device_no), 0) + 1 from devices";
    SET_DEVICE = "insert into devices (device_no, device_code, device_name, device_model, address,
            enabled, created_at_ms, total_curr_stock)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        on conflict (device_no) do update set device_name = excluded.device_name,
            device_model = excluded.device_model, address = excluded.address,
            enabled = excluded.enabled, total_curr_stock = excluded.total_curr_stock";
    SET_LISTED = "update device_owners set listed = $2 where device_no = $1";
    PRODUCT_EXISTS = "select 1 from products where goods_id = $1";
    AISLES = "select aisle_code, goods_id, price, show_price, curr_stock, max_stock, cabinet_code,
            layer, enabled, broken
        from aisles where device_no = $1 order by position";
    DELETE_AISLES = "delete from aisles where device_no = $1";
    INSERT_AISLE = "insert into aisles (device_no, aisle_code, position, cabinet_code, layer,
            goods_id, price, show_price, max_stock, curr_stock, enabled, broken)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
}

#[derive(Clone, PartialEq)]
struct DeviceRow {
    name: String,
    model: String,
    address: String,
    enabled: bool,
    created_at: i64,
    stock: i64,
}

impl FleetApplier<'_> {
    pub(super) async fn lock_moves(&self, entries: &[DeviceEntry]) -> Result<(), Error> {
        let moves = entries.iter().filter_map(|entry| {
            Some([entry.code.as_str().into(), entry.group.as_ref()?.as_str().into()])
        });
        owners::lock_moves(self.write, &moves.collect::<Vec<_>>()).await
    }

    pub(super) async fn device(&mut self, entry: &DeviceEntry) -> Result<EntryChange, Error> {
        let code = entry.code.as_str();
        let known = self
            .write
            .one(&DEVICE_BY_CODE, &[code.into()], |row| {
                let device = DeviceRow {
                    name: row.text(1)?.to_owned(),
                    model: row.text(2)?.to_owned(),
                    address: row.text(3)?.to_owned(),
                    enabled: row.flag(4)?,
                    created_at: row.int(5)?,
                    stock: row.int(6)?,
                };
                Ok((DeviceNo(row.int(0)?), device))
            })
            .await?;
        let number = match &known {
            Some((number, _)) => *number,
            None => DeviceNo(self.next_no(&NEXT_DEVICE).await?),
        };
        let old = known.map(|(_, device)| device);
        if old.is_none() && (entry.name.is_none() || entry.group.is_none()) {
            let missing = if entry.name.is_none() { "name" } else { "group" };
            return Ok(self.fault(format!("device {code}: {missing}: required for a new device")));
        }
        let new = self.merged(entry, old.as_ref());
        self.set_device(number, code, &new).await?;
        let owned = OwnedDevice { device_no: number, code, listed: new.enabled };
        let owner = self.set_owner(entry, &owned).await?;
        self.write.execute(&SET_LISTED, &[number.0.into(), new.enabled.into()]).await?;
        let aisles = self.set_aisles(number, code, entry.aisles.as_deref()).await?;
        Ok(match old {
            None => EntryChange::Created,
            Some(old) if old == new && owner == OwnerChange::Unchanged => aisles,
            Some(_) => EntryChange::Changed,
        })
    }

    /// Returns the row with the fields of the entry, and the old ones that the entry leaves out.
    fn merged(&self, entry: &DeviceEntry, old: Option<&DeviceRow>) -> DeviceRow {
        let text = |given: &Option<String>, old: Option<&String>| {
            given.clone().or_else(|| old.cloned()).unwrap_or_default()
        };
        let stock =
            entry.aisles.as_ref().map(|aisles| aisles.iter().map(|aisle| aisle.stock).sum());
        DeviceRow {
            name: text(&entry.name, old.map(|device| &device.name)),
            model: text(&entry.model, old.map(|device| &device.model)),
            address: text(&entry.address, old.map(|device| &device.address)),
            enabled: entry.enabled.unwrap_or_else(|| old.is_none_or(|device| device.enabled)),
            created_at: old.map_or(self.by.at.0, |device| device.created_at),
            stock: stock.unwrap_or_else(|| old.map_or(0, |device| device.stock)),
        }
    }

    async fn set_device(
        &self,
        number: DeviceNo,
        code: &str,
        device: &DeviceRow,
    ) -> Result<(), Error> {
        let params = [
            number.0.into(),
            code.into(),
            device.name.as_str().into(),
            device.model.as_str().into(),
            device.address.as_str().into(),
            device.enabled.into(),
            device.created_at.into(),
            device.stock.into(),
        ];
        self.write.execute(&SET_DEVICE, &params).await?;
        Ok(())
    }

    async fn set_owner(
        &mut self,
        entry: &DeviceEntry,
        owned: &OwnedDevice<'_>,
    ) -> Result<OwnerChange, Error> {
        let Some(group) = &entry.group else { return Ok(OwnerChange::Unchanged) };
        let Some(number) = self.group_no(group).await? else {
            self.fault(format!("device {}: group: no group {group} is known", owned.code));
            return Ok(OwnerChange::Unchanged);
        };
        match owners::move_device(self.write, owned, number, entry.since, self.by.at).await? {
            Ok(change) => Ok(change),
            Err(reason) => {
                self.fault(format!("device {}: {reason}", owned.code));
                Ok(OwnerChange::Unchanged)
            }
        }
    }

    async fn set_aisles(
        &mut self,
        number: DeviceNo,
        code: &str,
        aisles: Option<&[Aisle]>,
    ) -> Result<EntryChange, Error> {
        let Some(aisles) = aisles else { return Ok(EntryChange::Unchanged) };
        for aisle in aisles {
            let product = [aisle.goods_id.as_str().into()];
            if self.write.one(&PRODUCT_EXISTS, &product, |row| row.int(0)).await?.is_none() {
                self.fault(format!(
                    "device {code}: aisle {}: product: no product {} is known",
                    aisle.code, aisle.goods_id
                ));
            }
        }
        let old = self.write.all(&AISLES, &[number.0.into()], aisle).await?;
        if old != aisles {
            self.write.execute(&DELETE_AISLES, &[number.0.into()]).await?;
            for (position, aisle) in (0_i64..).zip(aisles) {
                self.add_aisle(number, position, aisle).await?;
            }
        }
        Ok(if old == aisles { EntryChange::Unchanged } else { EntryChange::Changed })
    }

    async fn add_aisle(&self, number: DeviceNo, position: i64, aisle: &Aisle) -> Result<(), Error> {
        let params: [Value<'_>; 12] = [
            number.0.into(),
            aisle.code.as_str().into(),
            position.into(),
            aisle.cabinet.as_str().into(),
            aisle.layer.into(),
            aisle.goods_id.as_str().into(),
            aisle.price.0.into(),
            aisle.show_price.0.into(),
            aisle.capacity.into(),
            aisle.stock.into(),
            aisle.enabled.into(),
            aisle.broken.into(),
        ];
        self.write.execute(&INSERT_AISLE, &params).await?;
        Ok(())
    }
}

fn aisle(row: &Row<'_>) -> Result<Aisle, Error> {
    Ok(Aisle {
        code: row.text(0)?.to_owned(),
        goods_id: row.text(1)?.to_owned(),
        price: kiosque_model::Minor(row.int(2)?),
        show_price: kiosque_model::Minor(row.int(3)?),
        stock: row.int(4)?,
        capacity: row.int(5)?,
        cabinet: row.text(6)?.to_owned(),
        layer: row.int(7)?,
        enabled: row.flag(8)?,
        broken: row.flag(9)?,
    })
}
