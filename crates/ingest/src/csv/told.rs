//! What one row tells: of its order, of its line, of its device and product.

use kiosque_model::fleet::{DeviceEntry, ProductEntry};
use kiosque_model::ids::check_id;
use kiosque_model::mask::masked;
use kiosque_model::money::{Currency, Minor};
use kiosque_model::{DeviceCode, GroupId};
use serde_json::{Map, Value};

use super::field::{Field, Kind, Reading, Source};
use super::mapping::NewProduct;
use super::order::Desk;
use super::row::Row;
use super::template::{Cells, ColumnNo, Template};

/// What one row tells.
pub(super) struct Told {
    pub(super) order: Map<String, Value>,
    pub(super) line: Option<Map<String, Value>>,
    pub(super) device: Option<DeviceEntry>,
    pub(super) product: Option<ProductEntry>,
}

impl Desk<'_> {
    /// Reads a row.
    ///
    /// # Errors
    /// Everything that is wrong with its cells.
    pub(super) fn told(&self, row: &Row) -> Result<Told, Vec<String>> {
        let mut reader = RowReader { desk: self, row, currency: None, faults: Vec::new() };
        let order = reader.fields(&self.mapping.order);
        let line = self.mapping.line.as_ref().map(|fields| reader.fields(fields));
        let device = reader.device(&order);
        let product = match (&self.mapping.product, &line) {
            (Some(new), Some(line)) => reader.product(new, line),
            _ => None,
        };
        if reader.faults.is_empty() {
            Ok(Told { order, line, device, product })
        } else {
            Err(reader.faults)
        }
    }
}

/// Reads one row, noting every fault in it.
struct RowReader<'a> {
    desk: &'a Desk<'a>,
    row: &'a Row,
    currency: Option<Currency>,
    faults: Vec<String>,
}

impl Cells for RowReader<'_> {
    fn cell(&self, column: ColumnNo) -> &str {
        self.desk.cell(self.row, column)
    }

    fn number(&self) -> u64 {
        self.row.number
    }
}

impl RowReader<'_> {
    fn fields(&mut self, fields: &[Field]) -> Map<String, Value> {
        let mut values = Map::new();
        for field in fields {
            let Some(value) = self.value(&field.source, field.kind) else {
                if field.required && self.text(&field.source).is_none() {
                    self.note_empty(field);
                }
                continue;
            };
            if let (Kind::Currency, Some(code)) = (field.kind, value.as_str()) {
                self.currency = Currency::parse(code).ok();
            }
            values.insert(field.name.to_owned(), value);
        }
        values
    }

    /// The first of the source's ways that gives a text, and the text.
    fn text<'s>(&self, source: &'s Source) -> Option<(&'s Template, String)> {
        let (way, text) =
            source.ways.iter().find_map(|way| way.fill(self).map(|text| (way, text)))?;
        Some((way, source.mapped(text)))
    }

    fn value(&mut self, source: &Source, kind: Kind) -> Option<Value> {
        let (way, text) = self.text(source)?;
        let mapping = self.desk.mapping;
        let by = Reading {
            numbers: &mapping.numbers,
            moments: source.moments.as_ref().unwrap_or(&mapping.moments),
            zone: self.desk.zone,
            currency: self.currency,
        };
        match kind.read(&text, &by) {
            Ok(value) => value,
            Err(fault) => {
                let secret = way.columns().any(|c| mapping.columns.column(c).secret);
                let fault =
                    if secret { format!("{:?} cannot be read", masked(&text)) } else { fault };
                let fault = format!("{}: {fault}", self.desk.place(way, source));
                // One cell may give several fields.
                if !self.faults.contains(&fault) {
                    self.faults.push(fault);
                }
                None
            }
        }
    }

    fn note_empty(&mut self, field: &Field) {
        let empty = field.source.columns().filter(|column| self.cell(*column).trim().is_empty());
        let names: Vec<String> = empty.map(|column| self.desk.name(column)).collect();
        let (name, names) = (field.name, names.join(", "));
        self.faults.push(format!("column {names}: is empty, and gives the order no {name}"));
    }

    fn words(&mut self, source: Option<&Source>) -> Option<String> {
        self.text(source?).map(|(_, text)| text)
    }

    fn device(&mut self, order: &Map<String, Value>) -> Option<DeviceEntry> {
        let new = self.desk.mapping.device.as_ref()?;
        let code = order.get("deviceCode")?.as_str()?;
        let code = match DeviceCode::parse(code) {
            Ok(code) => code,
            Err(fault) => {
                self.faults.push(format!("deviceCode {fault}"));
                return None;
            }
        };
        let group = match self.words(Some(&new.group)).map(GroupId::parse) {
            Some(Ok(group)) => group,
            Some(Err(fault)) => {
                self.faults.push(format!("{}: {fault}", new.group.path));
                return None;
            }
            None => {
                self.faults.push(format!("{}: its columns are empty", new.group.path));
                return None;
            }
        };
        let name = self.words(new.name.as_ref()).unwrap_or_else(|| code.as_str().to_owned());
        Some(DeviceEntry {
            code,
            name: Some(name),
            group: Some(group),
            since: None,
            model: self.words(new.model.as_ref()),
            address: self.words(new.address.as_ref()),
            enabled: None,
            aisles: None,
        })
    }

    fn product(&mut self, new: &NewProduct, line: &Map<String, Value>) -> Option<ProductEntry> {
        let id = line.get("goodsId")?.as_str().filter(|id| check_id(id).is_ok())?.to_owned();
        let sold_as = line.get("goodsName").and_then(Value::as_str).unwrap_or(&id).to_owned();
        let orders = self.currency;
        if let Some(Value::String(code)) =
            new.currency.as_ref().and_then(|source| self.value(source, Kind::Currency))
        {
            self.currency = Currency::parse(&code).ok();
        }
        let price = new.default_price.as_ref().and_then(|from| self.value(from, Kind::Amount));
        let currency = std::mem::replace(&mut self.currency, orders);
        Some(ProductEntry {
            name: Some(self.words(new.name.as_ref()).unwrap_or(sold_as)),
            category: self.words(new.category.as_ref()),
            currency,
            default_price: price.and_then(|price| price.as_i64()).map(Minor),
            id,
        })
    }
}
