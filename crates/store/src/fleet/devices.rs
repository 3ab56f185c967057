//! Devices of a fleet, their owners and their aisles.

use kiosque_model::DeviceNo;
use kiosque_model::fleet::{Aisle, DeviceEntry};

use super::{Applying, ReportContext};
use crate::Error;
use crate::owners::{self, Handover, Owned};
use crate::sql::{Row, Value, statements};

statements! {
    DEVICE = "select device_no, device_name, device_model, address, enabled, created_at_ms,
            total_curr_stock from devices where device_code = $1";
    NEXT = "select coalesce(max(device_no), 0) + 1 from devices";
    SET = "insert into devices (device_no, device_code, device_name, device_model, address,
            enabled, created_at_ms, total_curr_stock)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        on conflict (device_no) do update set device_name = excluded.device_name,
            device_model = excluded.device_model, address = excluded.address,
            enabled = excluded.enabled, total_curr_stock = excluded.total_curr_stock";
    LIST = "update device_owners set listed = $2 where device_no = $1";
    PRODUCT_KNOWN = "select 1 from products where goods_id = $1";
    AISLES = "select aisle_code, goods_id, price, show_price, curr_stock, max_stock, cabinet_code,
            layer, enabled, broken
        from aisles where device_no = $1 order by position";
    DROP_AISLES = "delete from aisles where device_no = $1";
    ADD_AISLE = "insert into aisles (device_no, aisle_code, position, cabinet_code, layer,
            goods_id, price, show_price, max_stock, curr_stock, enabled, broken)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
}

#[derive(Clone, PartialEq)]
struct Kept {
    name: String,
    model: String,
    address: String,
    enabled: bool,
    created_at: i64,
    stock: i64,
}

impl Applying<'_> {
    pub(super) async fn lock_moves(&self, entries: &[DeviceEntry]) -> Result<(), Error> {
        let moves = entries.iter().filter_map(|entry| {
            Some([entry.code.as_str().into(), entry.group.as_ref()?.as_str().into()])
        });
        owners::lock_moves(self.write, &moves.collect::<Vec<_>>()).await
    }

    pub(super) async fn device(&mut self, entry: &DeviceEntry) -> Result<ReportContext, Error> {
        let code = entry.code.as_str();
        let known = self
            .write
            .one(&DEVICE, &[code.into()], |row| {
                let kept = Kept {
                    name: row.text(1)?.to_owned(),
                    model: row.text(2)?.to_owned(),
                    address: row.text(3)?.to_owned(),
                    enabled: row.flag(4)?,
                    created_at: row.int(5)?,
                    stock: row.int(6)?,
                };
                Ok((DeviceNo(row.int(0)?), kept))
            })
            .await?;
        let number = match &known {
            Some((number, _)) => *number,
            None => DeviceNo(self.next(&NEXT).await?),
        };
        let was = known.map(|(_, kept)| kept);
        if was.is_none() && (entry.name.is_none() || entry.group.is_none()) {
            let missing = if entry.name.is_none() { "name" } else { "group" };
            return Ok(self.fault(format!("device {code}: {missing}: needed for a new device")));
        }
        let becomes = self.becomes(entry, was.as_ref());
        self.set_device(number, code, &becomes).await?;
        let owned = Owned { device: number, code, listed: becomes.enabled };
        let handover = self.hand_over(entry, &owned).await?;
        self.write.execute(&LIST, &[number.0.into(), becomes.enabled.into()]).await?;
        let aisles = self.aisles(number, code, entry.aisles.as_deref()).await?;
        Ok(match was {
            None => ReportContext::Created,
            Some(was) if was == becomes && handover == Handover::Stayed => aisles,
            Some(_) => ReportContext::Changed,
        })
    }

    fn becomes(&self, entry: &DeviceEntry, was: Option<&Kept>) -> Kept {
        let text = |given: &Option<String>, kept: Option<&String>| {
            given.clone().or_else(|| kept.cloned()).unwrap_or_default()
        };
        let stock =
            entry.aisles.as_ref().map(|aisles| aisles.iter().map(|aisle| aisle.stock).sum());
        Kept {
            name: text(&entry.name, was.map(|kept| &kept.name)),
            model: text(&entry.model, was.map(|kept| &kept.model)),
            address: text(&entry.address, was.map(|kept| &kept.address)),
            enabled: entry.enabled.unwrap_or_else(|| was.is_none_or(|kept| kept.enabled)),
            created_at: was.map_or(self.by.at.0, |kept| kept.created_at),
            stock: stock.unwrap_or_else(|| was.map_or(0, |kept| kept.stock)),
        }
    }

    async fn set_device(&self, number: DeviceNo, code: &str, becomes: &Kept) -> Result<(), Error> {
        let params = [
            number.0.into(),
            code.into(),
            becomes.name.as_str().into(),
            becomes.model.as_str().into(),
            becomes.address.as_str().into(),
            becomes.enabled.into(),
            becomes.created_at.into(),
            becomes.stock.into(),
        ];
        self.write.execute(&SET, &params).await?;
        Ok(())
    }

    async fn hand_over(
        &mut self,
        entry: &DeviceEntry,
        owned: &Owned<'_>,
    ) -> Result<Handover, Error> {
        let Some(group) = &entry.group else { return Ok(Handover::Stayed) };
        let Some(number) = self.group_no(group).await? else {
            self.fault(format!("device {}: group: no group {group} is known", owned.code));
            return Ok(Handover::Stayed);
        };
        match owners::give(self.write, owned, number, entry.since, self.by.at).await? {
            Ok(handover) => Ok(handover),
            Err(reason) => {
                self.fault(format!("device {}: {reason}", owned.code));
                Ok(Handover::Stayed)
            }
        }
    }

    async fn aisles(
        &mut self,
        number: DeviceNo,
        code: &str,
        aisles: Option<&[Aisle]>,
    ) -> Result<ReportContext, Error> {
        let Some(aisles) = aisles else { return Ok(ReportContext::Unchanged) };
        for aisle in aisles {
            let product = [aisle.goods_id.as_str().into()];
            if self.write.one(&PRODUCT_KNOWN, &product, |row| row.int(0)).await?.is_none() {
                self.fault(format!(
                    "device {code}: aisle {}: product: no product {} is known",
                    aisle.code, aisle.goods_id
                ));
            }
        }
        let was = self.write.all(&AISLES, &[number.0.into()], aisle).await?;
        if was != aisles {
            self.write.execute(&DROP_AISLES, &[number.0.into()]).await?;
            for (position, aisle) in (0_i64..).zip(aisles) {
                self.add_aisle(number, position, aisle).await?;
            }
        }
        Ok(if was == aisles { ReportContext::Unchanged } else { ReportContext::Changed })
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
        self.write.execute(&ADD_AISLE, &params).await?;
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
