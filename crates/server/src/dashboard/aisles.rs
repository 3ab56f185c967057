//! The aisle hierarchy as JSON: devices, their cabinets, their layers, their aisles.

use kiosque_contract::Aisle;
use kiosque_store::{DeviceLine, Error};
use serde::Serialize;

use super::device_list::{Elements, append_json};

/// The devices of a part of the hierarchy, as JSON of `DeviceAisles`. It is written while the rows
/// arrive, because a group can have a million aisles.
#[derive(Default)]
pub(super) struct AisleElements {
    elements: Elements,
    is_device_open: bool,
    /// The open cabinet.
    cabinet: Option<String>,
    /// The open layer.
    layer: Option<i64>,
}

impl AisleElements {
    /// Adds a line. Lines come device by device, cabinet by cabinet, layer by layer.
    pub(super) fn add(&mut self, line: DeviceLine<'_>) -> Result<(), Error> {
        if !self.elements.is_at(line.device_code) {
            self.close_device();
            if !self.elements.begin(line.device_code) {
                return Ok(());
            }
            self.is_device_open = true;
            self.open(r#"{"deviceCode":"#, line.device_code, "")?;
            self.open(r#","deviceName":"#, line.device_name, r#","cabinets":["#)?;
        }
        let Some(aisle) = line.aisle else { return Ok(()) };
        if self.cabinet.as_deref() != Some(aisle.cabinet_code) {
            self.close_cabinet();
            self.separate();
            self.open(r#"{"cabinetCode":"#, aisle.cabinet_code, r#","layers":["#)?;
            self.cabinet = Some(aisle.cabinet_code.to_owned());
        }
        if self.layer != Some(aisle.layer) {
            self.close_layer();
            self.separate();
            self.open(r#"{"layer":"#, &aisle.layer, r#","aisles":["#)?;
            self.layer = Some(aisle.layer);
        }
        self.separate();
        append_json(&mut self.elements.json, &wire_aisle(&aisle))
    }

    /// Returns the finished elements.
    pub(super) fn into_elements(mut self) -> Elements {
        self.close_device();
        self.elements
    }

    fn open(
        &mut self,
        before: &str,
        value: &(impl Serialize + ?Sized),
        after: &str,
    ) -> Result<(), Error> {
        let json = &mut self.elements.json;
        json.extend_from_slice(before.as_bytes());
        append_json(json, value)?;
        json.extend_from_slice(after.as_bytes());
        Ok(())
    }

    fn close_device(&mut self) {
        self.close_cabinet();
        if std::mem::take(&mut self.is_device_open) {
            self.close();
        }
    }

    fn close_cabinet(&mut self) {
        self.close_layer();
        if self.cabinet.take().is_some() {
            self.close();
        }
    }

    fn close_layer(&mut self) {
        if self.layer.take().is_some() {
            self.close();
        }
    }

    /// Ends a list and the object whose last field it is.
    fn close(&mut self) {
        self.elements.json.extend_from_slice(b"]}");
    }

    /// Appends a comma after an element of the open list.
    fn separate(&mut self) {
        if self.elements.json.last() != Some(&b'[') {
            self.elements.json.push(b',');
        }
    }
}

fn wire_aisle<'a>(aisle: &kiosque_store::Aisle<'a>) -> Aisle<'a> {
    Aisle {
        code: aisle.code.into(),
        show_name: aisle.code.into(),
        price: aisle.price.0,
        show_price: aisle.show_price.0,
        currency: aisle.currency.into(),
        max_stock: aisle.max_stock,
        curr_stock: aisle.curr_stock,
        is_enable: i64::from(aisle.enabled),
        is_broken: i64::from(aisle.broken),
        goods_id: aisle.goods_id.into(),
        goods_name: aisle.goods_name.into(),
    }
}

#[cfg(test)]
mod tests {
    use kiosque_contract::DeviceAisles;
    use kiosque_model::Minor;

    use super::*;

    fn aisle(
        cabinet_code: &'static str,
        layer: i64,
        code: &'static str,
    ) -> kiosque_store::Aisle<'static> {
        kiosque_store::Aisle {
            cabinet_code,
            layer,
            code,
            goods_id: "P\"1",
            goods_name: "Ünï",
            currency: "EUR",
            price: Minor(250),
            show_price: Minor(260),
            max_stock: 8,
            curr_stock: 5,
            enabled: true,
            broken: false,
        }
    }

    /// DASH-22: the text is that of the declared types.
    #[test]
    fn the_text_has_the_shape_of_its_types() {
        let lines = [
            ("A[", None),
            ("B", Some(aisle("1", 1, "11["))),
            ("B", Some(aisle("1", 1, "12"))),
            ("B", Some(aisle("1", 2, "21"))),
            ("B", Some(aisle("2", 2, "31"))),
            ("C", None),
            ("D", Some(aisle("2", 2, "31"))),
        ];
        let mut all = AisleElements::default();
        for (device_code, aisle) in lines {
            all.add(DeviceLine { device_code, device_name: "N\"[", aisle }).expect("JSON");
        }
        let elements = all.into_elements();
        assert_eq!(elements.totals.devices, 4);
        let json = format!("[{}]", String::from_utf8(elements.json).expect("UTF-8"));
        let devices: Vec<DeviceAisles> = serde_json::from_str(&json).expect("its types");
        assert_eq!(serde_json::to_string(&devices).expect("JSON"), json);
        let shape: Vec<Vec<Vec<usize>>> = devices
            .iter()
            .map(|device| {
                let layers = |cabinet: &kiosque_contract::Cabinet| {
                    cabinet.layers.iter().map(|layer| layer.aisles.len()).collect()
                };
                device.cabinets.iter().map(layers).collect()
            })
            .collect();
        assert_eq!(shape, [vec![], vec![vec![2, 1], vec![1]], vec![], vec![vec![1]]]);
    }
}
