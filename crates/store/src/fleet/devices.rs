//! Devices of a fleet, their owners and their aisles.

use kiosque_model::fleet::{Aisle, DeviceEntry};
use kiosque_model::{DeviceNo, Minor, UnixMs};

use super::{EntryChange, FleetApplier};
use crate::Error;
use crate::owners::{self, OwnedDevice, OwnerChange};
use crate::sql::{Value, row, statements};

row! {
    #[derive(PartialEq)]
    struct DeviceRow {
        device_name: String,
        device_model: String,
        address: String,
        enabled: bool,
        created_at_ms: UnixMs,
        total_curr_stock: i64,
    }
    struct NumberedDevice { device_no: DeviceNo, device: DeviceRow }
    struct AisleRow {
        aisle_code: String,
        goods_id: String,
        price: Minor,
        show_price: Minor,
        curr_stock: i64,
        max_stock: i64,
        cabinet_code: String,
        layer: i64,
        enabled: bool,
        broken: bool,
    }
}

statements! {
    DEVICE_BY_CODE(device_code) -> NumberedDevice = "select device_no, device_name, device_model,
            address, enabled, created_at_ms, total_curr_stock
        from devices where device_code = $device_code";
    NEXT_DEVICE() -> i64 = "select coalesce(max(device_no), 0) + 1 from devices";
    SET_DEVICE(
        device_no, device_code, device_name, device_model, address, enabled, created_at_ms,
        total_curr_stock
    ) = "insert into devices (device_no, device_code, device_name, device_model, address,
            enabled, created_at_ms, total_curr_stock)
        values ($device_no, $device_code, $device_name, $device_model, $address,
            $enabled, $created_at_ms, $total_curr_stock)
        on conflict (device_no) do update set device_name = excluded.device_name,
            device_model = excluded.device_model, address = excluded.address,
            enabled = excluded.enabled, total_curr_stock = excluded.total_curr_stock";
    SET_LISTED(device_no, listed) = "update device_owners set listed = $listed
        where device_no = $device_no";
    PRODUCT_EXISTS(goods_id) -> i64 = "select 1 from products where goods_id = $goods_id";
    AISLES(device_no) -> AisleRow = "select aisle_code, goods_id, price, show_price, curr_stock,
            max_stock, cabinet_code, layer, enabled, broken
        from aisles where device_no = $device_no order by position";
    DELETE_AISLES(device_no) = "delete from aisles where device_no = $device_no";
    INSERT_AISLE(
        device_no, aisle_code, position, cabinet_code, layer, goods_id, price, show_price,
        max_stock, curr_stock, enabled, broken
    ) = "insert into aisles (device_no, aisle_code, position, cabinet_code, layer,
            goods_id, price, show_price, max_stock, curr_stock, enabled, broken)
        values ($device_no, $aisle_code, $position, $cabinet_code, $layer, $goods_id, $price,
            $show_price, $max_stock, $curr_stock, $enabled, $broken)";
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
        let known = self.write.one(&DEVICE_BY_CODE, &[code.into()], |row| row.read()).await?;
        let (number, old) = match known {
            Some(NumberedDevice { device_no, device }) => (device_no, Some(device)),
            None => (DeviceNo(self.next_no(&NEXT_DEVICE).await?), None),
        };
        if old.is_none() && (entry.name.is_none() || entry.group.is_none()) {
            let missing = if entry.name.is_none() { "name" } else { "group" };
            return Ok(self.fault(format!("device {code}: {missing}: required for a new device")));
        }
        let new = self.merged(entry, old.as_ref());
        self.set_device(number, code, &new).await?;
        let owned = OwnedDevice { device_no: number, code, listed: new.enabled };
        let owner = self.set_owner(entry, &owned).await?;
        self.write.execute(&SET_LISTED, &[number.into(), new.enabled.into()]).await?;
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
            device_name: text(&entry.name, old.map(|device| &device.device_name)),
            device_model: text(&entry.model, old.map(|device| &device.device_model)),
            address: text(&entry.address, old.map(|device| &device.address)),
            enabled: entry.enabled.unwrap_or_else(|| old.is_none_or(|device| device.enabled)),
            created_at_ms: old.map_or(self.by.at, |device| device.created_at_ms),
            total_curr_stock: stock
                .unwrap_or_else(|| old.map_or(0, |device| device.total_curr_stock)),
        }
    }

    async fn set_device(
        &self,
        number: DeviceNo,
        code: &str,
        device: &DeviceRow,
    ) -> Result<(), Error> {
        let params = [
            number.into(),
            code.into(),
            device.device_name.as_str().into(),
            device.device_model.as_str().into(),
            device.address.as_str().into(),
            device.enabled.into(),
            device.created_at_ms.into(),
            device.total_curr_stock.into(),
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
            if self.write.one(&PRODUCT_EXISTS, &product, |_| Ok(())).await?.is_none() {
                self.fault(format!(
                    "device {code}: aisle {}: product: no product {} is known",
                    aisle.code, aisle.goods_id
                ));
            }
        }
        let old = self.write.all(&AISLES, &[number.into()], |row| Ok(aisle(row.read()?))).await?;
        if old != aisles {
            self.write.execute(&DELETE_AISLES, &[number.into()]).await?;
            for (position, aisle) in (0_i64..).zip(aisles) {
                self.add_aisle(number, position, aisle).await?;
            }
        }
        Ok(if old == aisles { EntryChange::Unchanged } else { EntryChange::Changed })
    }

    async fn add_aisle(&self, number: DeviceNo, position: i64, aisle: &Aisle) -> Result<(), Error> {
        let params: [Value<'_>; 12] = [
            number.into(),
            aisle.code.as_str().into(),
            position.into(),
            aisle.cabinet.as_str().into(),
            aisle.layer.into(),
            aisle.goods_id.as_str().into(),
            aisle.price.into(),
            aisle.show_price.into(),
            aisle.capacity.into(),
            aisle.stock.into(),
            aisle.enabled.into(),
            aisle.broken.into(),
        ];
        self.write.execute(&INSERT_AISLE, &params).await?;
        Ok(())
    }
}

fn aisle(row: AisleRow) -> Aisle {
    Aisle {
        code: row.aisle_code,
        goods_id: row.goods_id,
        price: row.price,
        show_price: row.show_price,
        stock: row.curr_stock,
        capacity: row.max_stock,
        cabinet: row.cabinet_code,
        layer: row.layer,
        enabled: row.enabled,
        broken: row.broken,
    }
}
