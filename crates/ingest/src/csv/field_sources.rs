//! Reads the sources of fields: a mapping's `[order]`, `[line]` and `[create]`.

use std::collections::BTreeMap;

use kiosque_model::time::Zone;
use kiosque_model::{Currency, GroupId};
use toml::{Table, Value};

use super::fields::{Field, Kind, LINE, NumberKind, ORDER, ReadOptions, Source, Spec, TextKind};
use super::mapping::{NewDevice, NewProduct};
use super::numbers::NumberFormat;
use super::section::{MappingFaults, Section, display};
use super::template::{self, ColumnNo, Columns, SUM, Template};
use super::times::{TimeFormats, format_fault};
use kiosque_contract::{OrderLine, OrderLineItem};

/// The amounts that `{#sum}` may fill.
const SUMMABLE: &[&str] = &["totalAmount", "payAmount"];

/// The key of `[line]` that names a column.
const UNLESS_EMPTY: &str = "unless_empty";
/// The kind of a source that is copied as it is.
const PLAIN: Kind = Kind::Text(TextKind::Plain);

/// The result of reading `[order]`.
pub(super) struct OrderSources {
    /// The columns of `order.key`.
    pub(super) key: Vec<ColumnNo>,
    /// The fields that sources fill.
    pub(super) fields: Vec<Field<OrderLine>>,
    /// The amounts that are the sum of the lines.
    pub(super) sums: Vec<&'static Spec<OrderLine>>,
}

/// The result of reading `[line]`.
pub(super) struct LineSources {
    /// The column of `line.unless_empty`.
    pub(super) column: Option<ColumnNo>,
    /// The fields that sources fill; `None` if the section is absent.
    pub(super) fields: Option<Vec<Field<OrderLineItem>>>,
}

/// Reads sources, and collects the columns that they name and their faults.
pub(super) struct SourceReader<'a> {
    numbers: &'a NumberFormat,
    times: &'a TimeFormats,
    columns: &'a mut Columns,
    faults: &'a mut MappingFaults,
    bare_texts: Vec<(String, String)>,
    currency: Option<Currency>,
}

impl<'a> SourceReader<'a> {
    /// Returns a reader of a report with these formats.
    pub(super) fn new(
        numbers: &'a NumberFormat,
        times: &'a TimeFormats,
        columns: &'a mut Columns,
        faults: &'a mut MappingFaults,
    ) -> SourceReader<'a> {
        SourceReader { numbers, times, columns, faults, bare_texts: Vec::new(), currency: None }
    }

    /// Returns the constants that may be meant as columns, each with its key.
    pub(super) fn into_bare_texts(self) -> Vec<(String, String)> {
        self.bare_texts
    }

    /// Reads `[order]`.
    pub(super) fn order(&mut self, root: &Section<'_>) -> OrderSources {
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
                sums.push(spec);
            } else if let ("orderId", None, [key]) = (spec.name, given, key.as_slice()) {
                let source = Source::one(&section.path(spec.name), Template::column(*key));
                fields.push(Field { spec, source });
            } else {
                fields.extend(self.field(&section, spec));
            }
        }
        self.check_identity(&key, &fields);
        OrderSources { key, fields, sums }
    }

    /// Reads `[line]`.
    pub(super) fn line(
        &mut self,
        root: &Section<'_>,
        sums: &[&'static Spec<OrderLine>],
    ) -> LineSources {
        let section = root.section("line", self.faults);
        let mut known = vec![UNLESS_EMPTY];
        known.extend(LINE.iter().map(|spec| spec.name));
        section.only(&known, self.faults);
        let priced = ["salePrice", "payAmount"].iter().any(|key| section.get(key).is_some());
        if !priced {
            for sum in sums {
                self.faults.note(
                    &format!("order.{}", sum.name),
                    "{#sum} needs line.payAmount, or line.salePrice, to add up",
                );
            }
        }
        if !section.is_present() {
            return LineSources { column: None, fields: None };
        }
        let name = section.text(UNLESS_EMPTY, self.faults);
        let column = name.map(|name| self.column(&section.path(UNLESS_EMPTY), name));
        let fields = LINE.iter().filter_map(|spec| self.field(&section, spec)).collect();
        LineSources { column, fields: Some(fields) }
    }

    /// Reads `[create.device]`; `None` if it is absent.
    pub(super) fn device(&mut self, root: &Section<'_>) -> Option<NewDevice> {
        let create = root.section("create", self.faults);
        create.only(&["device", "product"], self.faults);
        let section = create.section("device", self.faults);
        section.only(&["group", "name", "address", "model"], self.faults);
        if !section.is_present() {
            return None;
        }
        let name = self.optional(&section, "name", PLAIN);
        let address = self.optional(&section, "address", PLAIN);
        let model = self.optional(&section, "model", PLAIN);
        if section.get("group").is_none() {
            let needed = "needed: the id of the group that new devices join";
            self.faults.note(&section.path("group"), needed);
        }
        let group = self.optional(&section, "group", PLAIN)?;
        check_group(&group, self.faults);
        Some(NewDevice { group, name, address, model })
    }

    /// Reads `[create.product]`; `None` if it is absent.
    pub(super) fn product(&mut self, root: &Section<'_>) -> Option<NewProduct> {
        let section = root.section("create", self.faults).section("product", self.faults);
        section.only(&["name", "category", "currency", "default_price"], self.faults);
        if !section.is_present() {
            return None;
        }
        if root.get("line").is_none() {
            let needed = "needs a [line] section, whose goodsId identifies products";
            self.faults.note("create.product", needed);
        }
        Some(NewProduct {
            name: self.optional(&section, "name", PLAIN),
            category: self.optional(&section, "category", PLAIN),
            currency: self.optional(&section, "currency", Kind::Text(TextKind::Currency)),
            default_price: self.optional(
                &section,
                "default_price",
                Kind::Number(NumberKind::Amount),
            ),
        })
    }

    fn key(&mut self, section: &Section<'_>) -> Vec<ColumnNo> {
        let path = section.path("key");
        let mut key = Vec::new();
        for name in section.texts("key", self.faults).unwrap_or_default() {
            key.push(self.column(&path, &name));
        }
        key
    }

    /// Returns a column that is given by its name, without braces.
    fn column(&mut self, path: &str, name: &str) -> ColumnNo {
        if let Some(bare) = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            let bare = bare.trim();
            let fault = format!("names columns as they are: write {bare:?}, not {name:?}");
            self.faults.note(path, fault);
        }
        self.columns.number(name, path)
    }

    /// Checks that ids differ between orders, and are the same for all rows of one.
    fn check_identity(&mut self, key: &[ColumnNo], fields: &[Field<OrderLine>]) {
        let numbered = |source: &Source| source.templates.iter().any(Template::numbers_rows);
        for Field { spec, source } in fields {
            if !key.is_empty() && numbered(source) {
                self.faults.note(
                    &source.path,
                    "{#row} differs between the rows that order.key makes one order",
                );
            }
            let varies = source.columns().next().is_some() || numbered(source);
            if spec.name == "orderId" && !varies {
                self.faults.note(
                    &source.path,
                    "is the same for each order; a column is taken with \"{Column}\"",
                );
            }
        }
    }

    fn field<T>(&mut self, section: &Section<'_>, spec: &'static Spec<T>) -> Option<Field<T>> {
        if section.get(spec.name).is_none() {
            if !spec.needed.is_empty() {
                let needed = format_args!("needed, such as {}", spec.needed);
                self.faults.note(&section.path(spec.name), needed);
            }
            return None;
        }
        let source = self.optional(section, spec.name, spec.kind())?;
        if spec.kind() == Kind::Text(TextKind::Currency) {
            self.currency = source.as_constant().and_then(|code| Currency::parse(&code).ok());
        }
        Some(Field { spec, source })
    }

    fn optional(&mut self, section: &Section<'_>, key: &str, kind: Kind) -> Option<Source> {
        let value = section.get(key)?;
        let path = section.path(key);
        let source = match value {
            Value::Table(table) => self.table(&path, table, kind)?,
            _ => {
                let templates = self.templates(&path, value)?;
                let source = Source { templates, ..Source::one(&path, Template::constant("")) };
                self.note_bare_text(&source, kind);
                source
            }
        };
        self.check_constants(&source, kind);
        Some(source)
    }

    /// Reads `{ from = …, map = { … } }` or `{ constant = … }`, for times with `format` and `zone`.
    fn table(&mut self, path: &str, table: &Table, kind: Kind) -> Option<Source> {
        let section = Section::of(path.to_owned(), table);
        let mut known = vec!["from", "constant", "map"];
        if kind == Kind::Text(TextKind::Time) {
            known.extend(["format", "zone"]);
        }
        section.only(&known, self.faults);
        let map = self.map(&section);
        let (formats, zone) = if kind == Kind::Text(TextKind::Time) {
            time_keys(&section, self.faults)
        } else {
            (None, None)
        };
        let differs = formats.is_some() || zone.is_some();
        let times = differs.then(|| self.times.with(formats, zone));
        let templates = match (section.get("from"), section.get("constant")) {
            (Some(from), None) => self.templates(&section.path("from"), from)?,
            (None, Some(Value::String(text))) => vec![Template::constant(text.clone())],
            (None, Some(Value::Integer(number))) => vec![Template::constant(number.to_string())],
            _ => {
                self.faults
                    .note(path, "expected either from = \"{Column}\" or constant = \"text\"");
                return None;
            }
        };
        Some(Source { path: path.to_owned(), templates, map, times })
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
                    let got = display(to);
                    self.faults.note(&entries.path(from), format!("expected a text, got {got}"));
                    None
                }
            };
        }
        map
    }

    /// Reads a template or a list of them.
    fn templates(&mut self, path: &str, value: &Value) -> Option<Vec<Template>> {
        let list = match value {
            Value::Array(list) if !list.is_empty() => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        let templates: Vec<Template> =
            list.iter().filter_map(|value| self.template(path, value)).collect();
        let constant = templates.iter().position(|one| one.as_constant().is_some());
        if constant.is_some_and(|at| at + 1 < templates.len()) {
            self.faults.note(path, "nothing after a constant is ever used");
        }
        (templates.len() == list.len()).then_some(templates)
    }

    fn template(&mut self, path: &str, value: &Value) -> Option<Template> {
        match value {
            Value::String(text) => Template::parse(text, path, self.columns)
                .map_err(|fault| self.faults.note(path, format_args!("{text:?} {fault}")))
                .ok(),
            Value::Integer(number) => Some(Template::constant(number.to_string())),
            other => {
                let got = display(other);
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

    /// Remembers a constant that may be meant as a column, which the header of a report decides.
    fn note_bare_text(&mut self, source: &Source, kind: Kind) {
        if let ([template], PLAIN) = (source.templates.as_slice(), kind)
            && let Some(text) = template.as_constant().filter(|text| !text.is_empty())
        {
            self.bare_texts.push((source.path.clone(), text.to_owned()));
        }
    }

    fn check_constants(&mut self, source: &Source, kind: Kind) {
        let options = ReadOptions {
            numbers: self.numbers,
            times: source.times.as_ref().unwrap_or(self.times),
            zone: &Zone::utc(),
            currency: self.currency,
        };
        let constants = source.templates.iter().filter_map(Template::as_constant);
        let constants = constants.map(|text| source.mapped(text.to_owned()));
        for text in constants.chain(source.map.values().cloned()) {
            if text.contains('\0') {
                self.faults.note(&source.path, format_args!("{text:?} {}", template::Fault::Nul));
            } else if let Some(fault) = kind.fault(&text, &options) {
                let hint = format!("{fault}; a column is taken with \"{{Column}}\"");
                self.faults.note(&source.path, hint);
            }
        }
    }
}

/// Reads `format` and `zone`, which `[time]` and a field's own table may have.
pub(super) fn time_keys(
    section: &Section<'_>,
    faults: &mut MappingFaults,
) -> (Option<Vec<String>>, Option<Zone>) {
    let formats = section.texts("format", faults);
    for format in formats.iter().flatten() {
        if let Some(fault) = format_fault(format) {
            faults.note(&section.path("format"), format_args!("{format:?} {fault}"));
        }
    }
    let zone = section.text("zone", faults).and_then(|name| {
        Zone::named(name).map_err(|fault| faults.note(&section.path("zone"), fault)).ok()
    });
    (formats, zone)
}

/// Checks that a constant group is a valid id.
fn check_group(group: &Source, faults: &mut MappingFaults) {
    if let Some(Err(fault)) = group.as_constant().map(GroupId::parse) {
        faults.note(&group.path, fault);
    }
}
