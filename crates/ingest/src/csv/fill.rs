//! What fills each field: reading the sources of a mapping's `[order]`, `[line]` and `[create]`.

use std::collections::BTreeMap;

use kiosque_model::Currency;
use kiosque_model::time::Zone;
use toml::{Table, Value};

use super::amount::Numbers;
use super::field::{Field, Kind, LINE, ORDER, Reading, Source, Spec};
use super::mapping::{NewDevice, NewProduct, check_group, time_keys};
use super::moment::Moments;
use super::template::{self, ColumnNo, Columns, SUM, Template};
use super::walk::{Faults, Section, shown};

/// Amounts that may be the sum of an order's lines.
const SUMMABLE: &[&str] = &["totalAmount", "payAmount"];

/// Collects sources, the columns that they name and all that is wrong with them.
pub(super) struct Filling<'a> {
    numbers: &'a Numbers,
    moments: &'a Moments,
    columns: &'a mut Columns,
    faults: &'a mut Faults,
    bare_texts: Vec<(String, String)>,
    currency: Option<Currency>,
}

impl<'a> Filling<'a> {
    /// Nothing is filled yet.
    pub(super) fn new(
        numbers: &'a Numbers,
        moments: &'a Moments,
        columns: &'a mut Columns,
        faults: &'a mut Faults,
    ) -> Filling<'a> {
        Filling { numbers, moments, columns, faults, bare_texts: Vec::new(), currency: None }
    }

    /// The constants that may have been meant as columns, each with its key.
    pub(super) fn into_bare_texts(self) -> Vec<(String, String)> {
        self.bare_texts
    }

    /// `[order]`: its key columns, its fields, and which of its amounts are sums of lines.
    pub(super) fn order(
        &mut self,
        root: &Section<'_>,
    ) -> (Vec<ColumnNo>, Vec<Field>, Vec<&'static str>) {
        let section = root.section("order", self.faults);
        let mut known = vec!["key"];
        known.extend(ORDER.iter().map(|spec| spec.name));
        section.only(&known, self.faults);
        let key = self.key(&section);
        let (mut fields, mut sums) = (Vec::new(), Vec::new());
        for spec in ORDER {
            let given = section.get(spec.name);
            let is_sum = given.and_then(Value::as_str).is_some_and(|text| {
                text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) == Some(SUM)
            });
            if is_sum && SUMMABLE.contains(&spec.name) {
                sums.push(spec.name);
            } else if let ("orderId", None, [key]) = (spec.name, given, key.as_slice()) {
                let source = Source::one(&section.path(spec.name), Template::column(*key));
                fields.push(field(spec, source));
            } else {
                fields.extend(self.field(&section, spec));
            }
        }
        self.check_identity(&key, &fields);
        (key, fields, sums)
    }

    /// `[line]`, when rows have lines.
    pub(super) fn line(&mut self, root: &Section<'_>, sums: &[&str]) -> Option<Vec<Field>> {
        let section = root.section("line", self.faults);
        let known: Vec<&str> = LINE.iter().map(|spec| spec.name).collect();
        section.only(&known, self.faults);
        let priced = ["salePrice", "payAmount"].iter().any(|key| section.get(key).is_some());
        if !priced {
            for sum in sums {
                self.faults.note(
                    &format!("order.{sum}"),
                    "{#sum} needs line.payAmount, or line.salePrice, to add up",
                );
            }
        }
        if !section.is_there() {
            return None;
        }
        Some(LINE.iter().filter_map(|spec| self.field(&section, spec)).collect())
    }

    /// `[create.device]`, when unknown devices are to be created.
    pub(super) fn device(&mut self, root: &Section<'_>) -> Option<NewDevice> {
        let create = root.section("create", self.faults);
        create.only(&["device", "product"], self.faults);
        let section = create.section("device", self.faults);
        section.only(&["group", "name", "address", "model"], self.faults);
        if !section.is_there() {
            return None;
        }
        let name = self.optional(&section, "name", Kind::Text);
        let address = self.optional(&section, "address", Kind::Text);
        let model = self.optional(&section, "model", Kind::Text);
        if section.get("group").is_none() {
            let needed = "needed: the id of the group that new devices join";
            self.faults.note(&section.path("group"), needed);
        }
        let group = self.optional(&section, "group", Kind::Text)?;
        check_group(&group, self.faults);
        Some(NewDevice { group, name, address, model })
    }

    /// `[create.product]`, when unknown products are to be created.
    pub(super) fn product(&mut self, root: &Section<'_>) -> Option<NewProduct> {
        let section = root.section("create", self.faults).section("product", self.faults);
        section.only(&["name", "category", "currency", "default_price"], self.faults);
        if !section.is_there() {
            return None;
        }
        if root.get("line").is_none() {
            let needed = "needs a [line] section, whose goodsId products are known by";
            self.faults.note("create.product", needed);
        }
        Some(NewProduct {
            name: self.optional(&section, "name", Kind::Text),
            category: self.optional(&section, "category", Kind::Text),
            currency: self.optional(&section, "currency", Kind::Currency),
            default_price: self.optional(&section, "default_price", Kind::Amount),
        })
    }

    fn key(&mut self, section: &Section<'_>) -> Vec<ColumnNo> {
        let path = section.path("key");
        let mut key = Vec::new();
        for name in section.texts("key", self.faults).unwrap_or_default() {
            if let Some(bare) = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                let bare = bare.trim();
                let fault = format!("names columns as they are: write {bare:?}, not {name:?}");
                self.faults.note(&path, fault);
            }
            key.push(self.columns.number(&name, &path));
        }
        key
    }

    /// An order's id must differ from order to order, and stay the same for all rows of one.
    fn check_identity(&mut self, key: &[ColumnNo], fields: &[Field]) {
        let numbered = |source: &Source| source.ways.iter().any(Template::numbers_rows);
        for Field { name, source, .. } in fields {
            if !key.is_empty() && numbered(source) {
                self.faults.note(
                    &source.path,
                    "{#row} differs between the rows that order.key makes one order",
                );
            }
            let varies = source.columns().next().is_some() || numbered(source);
            if *name == "orderId" && !varies {
                self.faults.note(
                    &source.path,
                    "is the same for each order; a column is taken with \"{Column}\"",
                );
            }
        }
    }

    fn field(&mut self, section: &Section<'_>, spec: &Spec) -> Option<Field> {
        if section.get(spec.name).is_none() {
            if !spec.needed.is_empty() {
                let needed = format_args!("needed, such as {}", spec.needed);
                self.faults.note(&section.path(spec.name), needed);
            }
            return None;
        }
        let source = self.optional(section, spec.name, spec.kind)?;
        if spec.kind == Kind::Currency {
            self.currency = source.as_constant().and_then(|code| Currency::parse(&code).ok());
        }
        Some(field(spec, source))
    }

    fn optional(&mut self, section: &Section<'_>, key: &str, kind: Kind) -> Option<Source> {
        let value = section.get(key)?;
        let path = section.path(key);
        let source = match value {
            Value::Table(table) => self.table(&path, table, kind)?,
            _ => {
                let ways = self.ways(&path, value)?;
                let source = Source { ways, ..Source::one(&path, Template::constant("")) };
                self.note_bare_text(&source, kind);
                source
            }
        };
        self.check_constants(&source, kind);
        Some(source)
    }

    /// `{ from = …, map = { … } }`, `{ constant = … }`, and for times `format` and `zone`.
    fn table(&mut self, path: &str, table: &Table, kind: Kind) -> Option<Source> {
        let section = Section::of(path.to_owned(), table);
        let mut known = vec!["from", "constant", "map"];
        if kind == Kind::Time {
            known.extend(["format", "zone"]);
        }
        section.only(&known, self.faults);
        let map = self.map(&section);
        let (formats, zone) =
            if kind == Kind::Time { time_keys(&section, self.faults) } else { (None, None) };
        let differs = formats.is_some() || zone.is_some();
        let moments = differs.then(|| self.moments.with(formats, zone));
        let ways = match (section.get("from"), section.get("constant")) {
            (Some(from), None) => self.ways(&section.path("from"), from)?,
            (None, Some(Value::String(text))) => vec![Template::constant(text.clone())],
            (None, Some(Value::Integer(number))) => vec![Template::constant(number.to_string())],
            _ => {
                self.faults
                    .note(path, "expected either from = \"{Column}\" or constant = \"text\"");
                return None;
            }
        };
        Some(Source { path: path.to_owned(), ways, map, moments })
    }

    fn map(&mut self, section: &Section<'_>) -> BTreeMap<String, String> {
        let mut map = BTreeMap::new();
        let entries = section.section("map", self.faults);
        let Some(Value::Table(table)) = section.get("map") else { return map };
        for (from, to) in table {
            match to {
                Value::String(to) => map.insert(from.trim().to_owned(), to.clone()),
                Value::Integer(to) => map.insert(from.trim().to_owned(), to.to_string()),
                _ => {
                    let got = shown(to);
                    self.faults.note(&entries.path(from), format!("expected a text, got {got}"));
                    None
                }
            };
        }
        map
    }

    /// One template or a list of them, of which the first that gives a value counts.
    fn ways(&mut self, path: &str, value: &Value) -> Option<Vec<Template>> {
        let list = match value {
            Value::Array(list) if !list.is_empty() => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        let ways: Vec<Template> =
            list.iter().filter_map(|value| self.template(path, value)).collect();
        let constant = ways.iter().position(|way| way.as_constant().is_some());
        if constant.is_some_and(|at| at + 1 < ways.len()) {
            self.faults.note(path, "nothing behind a constant is ever used");
        }
        (ways.len() == list.len()).then_some(ways)
    }

    fn template(&mut self, path: &str, value: &Value) -> Option<Template> {
        match value {
            Value::String(text) => Template::parse(text, path, self.columns)
                .map_err(|fault| self.faults.note(path, format_args!("{text:?} {fault}")))
                .ok(),
            Value::Integer(number) => Some(Template::constant(number.to_string())),
            other => {
                let got = shown(other);
                self.faults.note(
                    path,
                    format_args!(
                        "expected \"{{Column}}\", a list of such, or a table with from; got {got}"
                    ),
                );
                None
            }
        }
    }

    /// A text that is no column yet may have been meant as one; the header will tell.
    fn note_bare_text(&mut self, source: &Source, kind: Kind) {
        if let ([way], Kind::Text) = (source.ways.as_slice(), kind)
            && let Some(text) = way.as_constant().filter(|text| !text.is_empty())
        {
            self.bare_texts.push((source.path.clone(), text.to_owned()));
        }
    }

    fn check_constants(&mut self, source: &Source, kind: Kind) {
        let by = Reading {
            numbers: self.numbers,
            moments: source.moments.as_ref().unwrap_or(self.moments),
            zone: &Zone::utc(),
            currency: self.currency,
        };
        let constants = source.ways.iter().filter_map(Template::as_constant);
        let constants = constants.map(|text| source.mapped(text.to_owned()));
        for text in constants.chain(source.map.values().cloned()) {
            if text.contains('\0') {
                self.faults.note(&source.path, format_args!("{text:?} {}", template::Fault::Nul));
            } else if let Err(fault) = kind.read(&text, &by) {
                let hint = format!("{fault}; a column is taken with \"{{Column}}\"");
                self.faults.note(&source.path, hint);
            }
        }
    }
}

fn field(spec: &Spec, source: Source) -> Field {
    Field { name: spec.name, kind: spec.kind, required: !spec.needed.is_empty(), source }
}
