//! The aisle hierarchy: devices, their cabinets, their layers, their aisles.

use kiosque_contract::{Aisle, Cabinet, DeviceAisles, Layer};
use kiosque_store::{DeviceLine, Error};

/// Adds an aisle to its layer. Lines come device by device, cabinet by cabinet, layer by layer.
pub(super) fn add(devices: &mut Vec<DeviceAisles>, line: DeviceLine<'_>) -> Result<(), Error> {
    let device = last_or_new(
        devices,
        |device| device.device_code == line.device_code,
        || DeviceAisles {
            device_code: line.device_code.to_owned(),
            device_name: line.device_name.to_owned(),
            cabinets: Vec::new(),
        },
    );
    let (Some(device), Some(aisle)) = (device, line.aisle) else { return Ok(()) };
    let cabinet = last_or_new(
        &mut device.cabinets,
        |cabinet| cabinet.cabinet_code == aisle.cabinet_code,
        || Cabinet { cabinet_code: aisle.cabinet_code.to_owned(), layers: Vec::new() },
    );
    let Some(cabinet) = cabinet else { return Ok(()) };
    let layer = last_or_new(
        &mut cabinet.layers,
        |layer| layer.layer == aisle.layer,
        || Layer { layer: aisle.layer, aisles: Vec::new() },
    );
    if let Some(layer) = layer {
        layer.aisles.push(wire_aisle(aisle));
    }
    Ok(())
}

/// Returns the last entry if `is_it`, else a new one.
fn last_or_new<T>(
    list: &mut Vec<T>,
    is_it: impl Fn(&T) -> bool,
    new: impl FnOnce() -> T,
) -> Option<&mut T> {
    if !list.last().is_some_and(is_it) {
        list.push(new());
    }
    list.last_mut()
}

fn wire_aisle(aisle: kiosque_store::Aisle<'_>) -> Aisle {
    Aisle {
        code: aisle.code.to_owned(),
        show_name: aisle.code.to_owned(),
        price: aisle.price.0,
        show_price: aisle.show_price.0,
        currency: aisle.currency.to_owned(),
        max_stock: aisle.max_stock,
        curr_stock: aisle.curr_stock,
        is_enable: i64::from(aisle.enabled),
        is_broken: i64::from(aisle.broken),
        goods_id: aisle.goods_id.to_owned(),
        goods_name: aisle.goods_name.to_owned(),
    }
}
