//! The element of each device in the hierarchy of aisles (DASH-22), as JSON. It is stored when an
//! apply changes it, so that reading the hierarchy of a group takes one row per device, however
//! many aisles the devices have.

use std::collections::{BTreeSet, HashMap};

use kiosque_contract::{Aisle, Cabinet, DeviceAisles, Layer};
use kiosque_model::DeviceNo;

use crate::cooperative::yield_if_due;
use crate::db::{Read, Write};
use crate::error::Error;
use crate::json_records::json;
use crate::sql::{Value, numbers, row, statements};

row! {
    struct LineRow {
        device_no: DeviceNo,
        device_code: String,
        device_name: String,
        /// `None` for a device without aisles.
        placed: Option<PlacedAisle>,
    }
    struct PlacedAisle { cabinet_code: String, layer: i64, aisle: Aisle<'static> }
    for Aisle<'static> {
        code, show_name, price, show_price, currency, max_stock, curr_stock, is_enable, is_broken,
        goods_id, goods_name,
    }
}

statements! {
    LINES_OF() -> LineRow = "select d.device_no, d.device_code, d.device_name,
            a.cabinet_code, a.layer, a.aisle_code as code, a.aisle_code as show_name, a.price,
            a.show_price, coalesce(p.currency, '') as currency, a.max_stock, a.curr_stock,
            case when a.enabled then 1 else 0 end as is_enable,
            case when a.broken then 1 else 0 end as is_broken, a.goods_id,
            coalesce(p.goods_name, '') as goods_name
        from {rows r: device bigint} cross join devices d
        left join aisles a on a.device_no = d.device_no
        left join products p on p.goods_id = a.goods_id
        where d.device_no = r.device
        order by d.device_no, a.cabinet_code, a.layer, a.position";
    SET_ELEMENTS() = "insert into aisle_texts (device_no, element)
        select r.device, r.element from {rows r: device bigint, element text} where true
        on conflict (device_no) do update set element = excluded.element";
    DEVICES_SELLING() -> DeviceNo = "select distinct a.device_no
        from {rows r: goods text} cross join aisles a where a.goods_id = r.goods";
    DEVICES_AFTER(device_no, count) -> DeviceNo = "select device_no from devices
        where device_no > $device_no order by device_no limit $count";
    STORED_OF() -> (DeviceNo, String) = "select t.device_no, t.element
        from {rows r: device bigint} cross join aisle_texts t where t.device_no = r.device";
}

/// Number of devices whose elements are built and written together.
const DEVICES_PER_STEP: usize = 1_000;

/// A device with its aisles, as an element of a JSON array.
struct Made {
    device: DeviceNo,
    code: String,
    element: String,
}

/// Builds and stores the elements of devices whose rows have been written, and of all devices that
/// sell products with these ids.
pub(crate) async fn update(
    write: &Write<'_>,
    mut devices: BTreeSet<DeviceNo>,
    products: &[[Value<'_>; 1]],
) -> Result<(), Error> {
    devices.extend(write.all_of::<DeviceNo>(&DEVICES_SELLING, products, &[]).await?);
    let devices: Vec<DeviceNo> = devices.into_iter().collect();
    for step in devices.chunks(DEVICES_PER_STEP) {
        let made = elements(write, step).await?;
        let rows = made.iter().map(|made| [made.device.into(), made.element.as_str().into()]);
        write.execute_each(&SET_ELEMENTS, rows, &[]).await?;
    }
    Ok(())
}

/// Returns the codes of the devices whose stored element does not match their aisles.
pub(crate) async fn outdated(read: &Read<'_>) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    let mut last = DeviceNo(i64::MIN);
    loop {
        let params = [last.into(), DEVICES_PER_STEP.into()];
        let devices: Vec<DeviceNo> = read.all(&DEVICES_AFTER, &params).await?;
        let Some(&end) = devices.last() else { return Ok(found) };
        let rows = numbers(devices.iter().copied());
        let stored = read.all_of(&STORED_OF, &rows, &[]).await?;
        let stored: HashMap<DeviceNo, String> = stored.into_iter().collect();
        let mut made = elements(read, &devices).await?;
        made.retain(|made| stored.get(&made.device) != Some(&made.element));
        found.extend(made.into_iter().map(|made| made.code));
        last = end;
    }
}

async fn elements(read: &Read<'_>, devices: &[DeviceNo]) -> Result<Vec<Made>, Error> {
    let rows = numbers(devices.iter().copied());
    elements_of(read.all_of(&LINES_OF, &rows, &[]).await?)
}

/// Builds the elements of the devices of lines, which are sorted by device, cabinet and layer.
fn elements_of(lines: Vec<LineRow>) -> Result<Vec<Made>, Error> {
    let mut lines = lines.into_iter().peekable();
    let mut made = Vec::new();
    while let Some(LineRow { device_no, device_code, device_name, placed }) = lines.next() {
        yield_if_due();
        let mut device = DeviceAisles { device_code, device_name, cabinets: Vec::new() };
        let mut next = placed;
        while let Some(placed) = next {
            placed.add_to(&mut device.cabinets);
            let line = lines.next_if(|line| line.device_no == device_no);
            next = line.and_then(|line| line.placed);
        }
        let element = json(&device)?;
        made.push(Made { device: device_no, code: device.device_code, element });
    }
    Ok(made)
}

impl PlacedAisle {
    /// Adds the aisle to the last layer of the last cabinet, or to a new one.
    fn add_to(self, cabinets: &mut Vec<Cabinet>) {
        let cabinet = match cabinets.last_mut() {
            Some(last) if last.cabinet_code == self.cabinet_code => last,
            _ => cabinets.push_mut(Cabinet { cabinet_code: self.cabinet_code, layers: Vec::new() }),
        };
        let layer = match cabinet.layers.last_mut() {
            Some(last) if last.layer == self.layer => last,
            _ => cabinet.layers.push_mut(Layer { layer: self.layer, aisles: Vec::new() }),
        };
        layer.aisles.push(self.aisle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aisle(cabinet_code: &str, layer: i64, code: &'static str) -> PlacedAisle {
        let aisle = Aisle {
            code: code.into(),
            show_name: code.into(),
            price: 250,
            show_price: 260,
            currency: "".into(),
            max_stock: 8,
            curr_stock: 5,
            is_enable: 1,
            is_broken: 0,
            goods_id: "P\"1".into(),
            goods_name: "Ünï".into(),
        };
        PlacedAisle { cabinet_code: cabinet_code.to_owned(), layer, aisle }
    }

    /// DASH-22.
    #[test]
    fn lines_become_cabinets_and_layers() {
        let lines = [
            (1, None),
            (2, Some(aisle("1", 1, "11"))),
            (2, Some(aisle("1", 1, "12"))),
            (2, Some(aisle("1", 2, "21"))),
            (2, Some(aisle("2", 2, "31"))),
            (3, None),
            (4, Some(aisle("2", 2, "31"))),
        ];
        let line = |(number, placed)| LineRow {
            device_no: DeviceNo(number),
            device_code: "D".into(),
            device_name: "N".into(),
            placed,
        };
        let made = elements_of(lines.map(line).into()).expect("JSON");
        let devices: Vec<DeviceAisles> = made
            .iter()
            .map(|made| serde_json::from_str(&made.element).expect("its type"))
            .collect();
        let shape: Vec<Vec<Vec<usize>>> = devices
            .iter()
            .map(|device| {
                let layers = |cabinet: &Cabinet| {
                    cabinet.layers.iter().map(|layer| layer.aisles.len()).collect()
                };
                device.cabinets.iter().map(layers).collect()
            })
            .collect();
        assert_eq!(shape, [vec![], vec![vec![2, 1], vec![1]], vec![], vec![vec![1]]]);
        let numbers: Vec<i64> = made.iter().map(|made| made.device.0).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
    }
}
