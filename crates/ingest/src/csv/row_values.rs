//! The values of one row: the fields of its order and line, its device and its product.

use kiosque_model::fleet::{DeviceEntry, ProductEntry};
use kiosque_model::ids::check_id;
use kiosque_model::mask::masked;
use kiosque_model::money::{Currency, Minor};
use kiosque_model::{DeviceCode, GroupId};

use super::bound_mapping::BoundMapping;
use super::fields::{Field, FieldValue, Kind, ReadOptions, Source, Spec};
use super::mapping::NewProduct;
use super::row::Row;
use super::template::{ColumnNo, Template};
use crate::fleet;
use kiosque_contract::{OrderLine, OrderLineItem};

/// The values of one row.
pub(super) struct RowValues {
    pub(super) order: OrderLine,
    pub(super) line: Option<OrderLineItem>,
    pub(super) device: Option<Result<DeviceEntry, String>>,
    pub(super) product: Option<ProductEntry>,
}

impl RowValues {
    /// Reads a well-formed row.
    ///
    /// # Errors
    /// All errors in its cells.
    pub(super) fn read(mapping: &BoundMapping<'_>, row: &Row) -> Result<RowValues, Vec<String>> {
        let mut reader = RowReader { mapping, row, currency: None, errors: Vec::new() };
        let order = reader.fields(&mapping.mapping.order.fields);
        let is_given = |column: ColumnNo| !reader.cell(column).trim().is_empty();
        let line = mapping.mapping.line.as_ref();
        let line = line.filter(|line| line.unless_empty.is_none_or(is_given));
        let line = line.map(|line| reader.fields(&line.fields));
        let device = reader.device(&order);
        let product = match (&mapping.mapping.product, &line) {
            (Some(new), Some(line)) => reader.product(new, line),
            _ => None,
        };
        if reader.errors.is_empty() {
            Ok(RowValues { order, line, device, product })
        } else {
            Err(reader.errors)
        }
    }
}

/// Reads one row, collecting every error in it.
struct RowReader<'a> {
    mapping: &'a BoundMapping<'a>,
    row: &'a Row,
    /// The order's currency, once it is read.
    currency: Option<Currency>,
    errors: Vec<String>,
}

impl RowReader<'_> {
    fn cell(&self, column: ColumnNo) -> &str {
        self.mapping.cell(self.row, column)
    }

    fn fields<T: Default>(&mut self, fields: &[Field<T>]) -> T {
        let mut values = T::default();
        for Field { spec, source } in fields {
            match self.value(source, spec.kind) {
                Some(value) => {
                    if let (Kind::Currency, FieldValue::Text(code)) = (spec.kind, &value) {
                        self.currency = Currency::parse(code).ok();
                    }
                    (spec.set)(&mut values, value);
                }
                None if !spec.needed.is_empty() && self.text(source).is_none() => {
                    self.note_empty(spec, source);
                }
                None => {}
            }
        }
        values
    }

    /// Returns the first template of a source that yields a text, and the text.
    fn text<'s>(&self, source: &'s Source) -> Option<(&'s Template, String)> {
        let filled = |template: &'s Template| {
            let text = template.fill(self.row.number, |column| self.cell(column))?;
            Some((template, text))
        };
        let (template, text) = source.templates.iter().find_map(filled)?;
        Some((template, source.mapped(text)))
    }

    fn value(&mut self, source: &Source, kind: Kind) -> Option<FieldValue> {
        let (template, text) = self.text(source)?;
        let mapping = self.mapping.mapping;
        let options = ReadOptions {
            numbers: &mapping.numbers,
            times: source.times.as_ref().unwrap_or(&mapping.times),
            zone: self.mapping.zone,
            currency: self.currency,
        };
        match kind.read(&text, &options) {
            Ok(value) => value,
            Err(error) => {
                let is_secret = |column: ColumnNo| mapping.columns.column(column).secret;
                let error = match template.columns().any(is_secret) {
                    true => format!("{:?} cannot be read", masked(&text)),
                    false => error,
                };
                let error = format!("{}: {error}", self.mapping.origin(template, source));
                // A cell may fill several fields.
                if !self.errors.contains(&error) {
                    self.errors.push(error);
                }
                None
            }
        }
    }

    fn note_empty<T>(&mut self, spec: &Spec<T>, source: &Source) {
        let empty = source.columns().filter(|column| self.cell(*column).trim().is_empty());
        let names: Vec<String> = empty.map(|column| self.mapping.name(column)).collect();
        let name = spec.name;
        let names = names.join(", ");
        self.errors.push(format!("column {names}: is empty, but {name} is required"));
    }

    fn plain_text(&self, source: Option<&Source>) -> Option<String> {
        self.text(source?).map(|(_, text)| text)
    }

    /// Returns the device to create if it is unknown, or why that is not possible.
    fn device(&mut self, order: &OrderLine) -> Option<Result<DeviceEntry, String>> {
        let new = self.mapping.mapping.device.as_ref()?;
        let code = match DeviceCode::parse(order.device_code.clone()?) {
            Ok(code) => code,
            Err(error) => {
                self.errors.push(format!("deviceCode {error}"));
                return None;
            }
        };
        let group = match self.plain_text(Some(&new.group)).map(GroupId::parse) {
            Some(Ok(group)) => group,
            Some(Err(error)) => return Some(Err(format!("{}: {error}", new.group.path))),
            None => return Some(Err(format!("{}: its columns are empty", new.group.path))),
        };
        let name = self.plain_text(new.name.as_ref()).unwrap_or_else(|| code.as_str().to_owned());
        Some(Ok(DeviceEntry {
            code,
            name: Some(name),
            group: Some(group),
            since: None,
            model: self.plain_text(new.model.as_ref()),
            address: self.plain_text(new.address.as_ref()),
            enabled: None,
            aisles: None,
        }))
    }

    fn product(&mut self, new: &NewProduct, line: &OrderLineItem) -> Option<ProductEntry> {
        let id = line.goods_id.as_deref().filter(|id| check_id(id).is_ok())?.to_owned();
        let sold_as = line.goods_name.as_deref().unwrap_or(&id).to_owned();
        let of_order = self.currency;
        let code = new.currency.as_ref();
        if let Some(code) = code.and_then(|from| self.value(from, Kind::Currency)?.text()) {
            self.currency = Currency::parse(&code).ok();
        }
        let price = new.default_price.as_ref().and_then(|from| self.price(from));
        let currency = std::mem::replace(&mut self.currency, of_order);
        Some(ProductEntry {
            name: Some(self.plain_text(new.name.as_ref()).unwrap_or(sold_as)),
            category: self.plain_text(new.category.as_ref()),
            currency,
            default_price: price,
            id,
        })
    }

    fn price(&mut self, from: &Source) -> Option<Minor> {
        let price = Minor(self.value(from, Kind::Amount)?.number()?);
        let checked = fleet::check_price(price);
        checked.map_err(|error| self.errors.push(format!("{}: {error}", from.path))).ok()
    }
}
