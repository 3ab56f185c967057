//! Reads a mapping: the sources of its fields, and the columns that they use.

use std::ops::Range;

use kiosque_contract::OrderLine;
use kiosque_model::time::Zone;
use kiosque_model::{Currency, GroupId};
use toml::Spanned;

use super::fields::{Field, Kind, LINE, ORDER, ReadOptions, Source, Spec};
use super::mapping::{LineMapping, Mapping, NewDevice, NewProduct, OrderMapping};
use super::mapping_file::{Given, MappingError, MappingFile, Section, SourceTable};
use super::numbers::{NumberFormat, UNIT_NEEDED};
use super::skip::{Skip, SkipSection};
use super::template::{ColumnNo, Columns, NUL, Template};
use super::times::TimeFormats;
use crate::masking::MASKED_FIELDS;

/// The amounts that `{#sum}` may fill.
const SUMMABLE: [&str; 2] = ["totalAmount", "payAmount"];
/// The key of `[order]` that lists columns.
const KEY: &str = "key";
/// The key of `[line]` that specifies a column.
const UNLESS_EMPTY: &str = "unless_empty";

impl Mapping {
    /// Reads a mapping.
    ///
    /// # Errors
    /// The first error, with its line and column, its key and the expected value.
    pub fn parse(text: &str) -> Result<Mapping, String> {
        MappingFile::read(text).and_then(Mapping::of_file).map_err(|error| error.in_text(text))
    }

    fn of_file(file: MappingFile) -> Result<Mapping, MappingError> {
        let MappingFile { report: format, time: times, amount, order, line, skip, create } = file;
        let numbers = amount.ok_or_else(|| MappingError::new(0..0, "amount", UNIT_NEEDED))?;
        let mut parser = Parser {
            numbers: &numbers,
            times: &times,
            columns: Columns::default(),
            bare_texts: Vec::new(),
            currency: None,
        };
        let order = parser.order(order, line.as_ref())?;
        let line = line.map(|line| parser.line(line)).transpose()?;
        let device = create.device.map(|device| parser.device(device)).transpose()?;
        let product = create.product.map(|product| parser.product(product, line.as_ref()));
        let product = product.transpose()?;
        let skips = (1..).zip(skip).map(|(number, skip)| parser.skip(number, skip));
        let skips = skips.collect::<Result<_, MappingError>>()?;
        let Parser { mut columns, bare_texts, .. } = parser;
        mark_secrets(&order.fields, &mut columns);
        Ok(Mapping {
            format,
            numbers,
            times,
            columns,
            bare_texts,
            order,
            line,
            skips,
            device,
            product,
        })
    }
}

/// Marks the columns of card and phone numbers, which are masked wherever a row is shown.
fn mark_secrets(order: &[Field<OrderLine>], columns: &mut Columns) {
    let secret = |field: &&Field<OrderLine>| MASKED_FIELDS.contains(&field.spec.name);
    for field in order.iter().filter(secret) {
        for column in field.source.columns() {
            columns.named[column.index()].secret = true;
        }
    }
}

/// Reads sources, and collects the columns that they use.
struct Parser<'a> {
    numbers: &'a NumberFormat,
    times: &'a TimeFormats,
    columns: Columns,
    bare_texts: Vec<(String, String)>,
    /// The currency, if all orders have the same.
    currency: Option<Currency>,
}

impl Parser<'_> {
    fn order(
        &mut self,
        section: Spanned<Section>,
        line: Option<&Spanned<Section>>,
    ) -> Result<OrderMapping, MappingError> {
        let at = section.span();
        let mut section = section.into_inner();
        check_keys("order", &section, KEY, ORDER)?;
        let key = section.remove(KEY).map(|key| self.named_columns("order.key", key));
        let key = key.transpose()?.unwrap_or_default();
        let is_priced = |line: &Spanned<Section>| {
            ["salePrice", "payAmount"].iter().any(|key| line.get_ref().contains_key(*key))
        };
        let mut fields = Vec::new();
        let mut sums = Vec::new();
        for spec in ORDER {
            let path = format!("order.{}", spec.name);
            let given = section.remove(spec.name);
            let at = given.as_ref().map_or(at.clone(), Spanned::span);
            let error = |error: &str| MappingError::new(at.clone(), &path, error);
            let is_sum = given.as_ref().is_some_and(|given| given.get_ref().is_sum());
            if is_sum && SUMMABLE.contains(&spec.name) {
                if !line.is_some_and(is_priced) {
                    return Err(error("{#sum} needs line.payAmount, or line.salePrice, to add up"));
                }
                sums.push(spec);
            } else if let ("orderId", None, [key]) = (spec.name, &given, key.as_slice()) {
                let source = Source::new(&path, vec![Template::column(*key)]);
                fields.push(Field { spec, source });
            } else if let Some(field) = self.field(&path, &at, spec, given)? {
                check_identity(&field, &key).map_err(error)?;
                fields.push(field);
            }
        }
        Ok(OrderMapping { key, fields, sums })
    }

    fn line(&mut self, section: Spanned<Section>) -> Result<LineMapping, MappingError> {
        let at = section.span();
        let mut section = section.into_inner();
        check_keys("line", &section, UNLESS_EMPTY, LINE)?;
        let unless_empty = match section.remove(UNLESS_EMPTY) {
            Some(given) => {
                let at = given.span();
                let columns = self.named_columns("line.unless_empty", given)?;
                let [column] = columns.as_slice() else {
                    return Err(MappingError::new(at, "line.unless_empty", "expected one column"));
                };
                Some(*column)
            }
            None => None,
        };
        let fields = LINE.iter().filter_map(|spec| {
            let path = format!("line.{}", spec.name);
            self.field(&path, &at, spec, section.remove(spec.name)).transpose()
        });
        Ok(LineMapping { fields: fields.collect::<Result<_, _>>()?, unless_empty })
    }

    fn device(&mut self, device: NewDevice<Spanned<Given>>) -> Result<NewDevice, MappingError> {
        let at = device.group.span();
        let group = self.source("create.device.group", device.group, Kind::Plain)?;
        if let Some(Err(error)) = group.as_constant().map(GroupId::parse) {
            return Err(MappingError::new(at, &group.path, error));
        }
        Ok(NewDevice {
            group,
            name: self.optional("create.device.name", device.name, Kind::Plain)?,
            address: self.optional("create.device.address", device.address, Kind::Plain)?,
            model: self.optional("create.device.model", device.model, Kind::Plain)?,
        })
    }

    fn product(
        &mut self,
        product: Spanned<NewProduct<Spanned<Given>>>,
        line: Option<&LineMapping>,
    ) -> Result<NewProduct, MappingError> {
        if line.is_none() {
            let needed = "needs a [line] section, whose goodsId identifies products";
            return Err(MappingError::new(product.span(), "create.product", needed));
        }
        let NewProduct { name, category, currency, default_price } = product.into_inner();
        Ok(NewProduct {
            name: self.optional("create.product.name", name, Kind::Plain)?,
            category: self.optional("create.product.category", category, Kind::Plain)?,
            currency: self.optional("create.product.currency", currency, Kind::Currency)?,
            default_price: self.optional(
                "create.product.default_price",
                default_price,
                Kind::Amount,
            )?,
        })
    }

    fn skip(&mut self, number: usize, skip: Spanned<SkipSection>) -> Result<Skip, MappingError> {
        let path = format!("skip {number}.column");
        let at = skip.span();
        let column = self.columns.number(&skip.get_ref().column, &path);
        Skip::new(column, skip.into_inner()).map_err(|error| MappingError::new(at, &path, error))
    }

    /// Returns columns that are given by name, without braces.
    fn named_columns(
        &mut self,
        path: &str,
        given: Spanned<Given>,
    ) -> Result<Vec<ColumnNo>, MappingError> {
        let at = given.span();
        let Given::Templates(names) = given.into_inner() else {
            return Err(MappingError::new(at, path, "expected a string or a list of strings"));
        };
        let bare =
            |name: &String| Some(name.strip_prefix('{')?.strip_suffix('}')?.trim().to_owned());
        if let Some((name, bare)) = names.iter().find_map(|name| Some((name, bare(name)?))) {
            let error = format!("takes column names without braces: write {bare:?}, not {name:?}");
            return Err(MappingError::new(at, path, error));
        }
        Ok(names.iter().map(|name| self.columns.number(name, path)).collect())
    }

    fn field<T>(
        &mut self,
        path: &str,
        at: &Range<usize>,
        spec: &'static Spec<T>,
        given: Option<Spanned<Given>>,
    ) -> Result<Option<Field<T>>, MappingError> {
        let Some(given) = given else {
            let needed = format_args!("needed, such as {}", spec.needed);
            return match spec.needed {
                "" => Ok(None),
                _ => Err(MappingError::new(at.clone(), path, needed)),
            };
        };
        let source = self.source(path, given, spec.kind)?;
        if spec.kind == Kind::Currency {
            self.currency = source.as_constant().and_then(|code| Currency::parse(&code).ok());
        }
        Ok(Some(Field { spec, source }))
    }

    fn optional(
        &mut self,
        path: &str,
        given: Option<Spanned<Given>>,
        kind: Kind,
    ) -> Result<Option<Source>, MappingError> {
        given.map(|given| self.source(path, given, kind)).transpose()
    }

    fn source(
        &mut self,
        path: &str,
        given: Spanned<Given>,
        kind: Kind,
    ) -> Result<Source, MappingError> {
        let at = given.span();
        let source = match given.into_inner() {
            Given::Templates(texts) => self.bare_source(path, &texts, kind),
            Given::Table(table) => self.table_source(path, table, kind),
        };
        let checked =
            source.and_then(|source| self.check_constants(&source, kind).map(|()| source));
        checked.map_err(|error| MappingError::new(at, path, error))
    }

    /// Reads templates. A constant may be meant as a column; the report's header decides.
    fn bare_source(&mut self, path: &str, texts: &[String], kind: Kind) -> Result<Source, String> {
        let templates = self.templates(path, texts)?;
        if let ([template], Kind::Plain) = (templates.as_slice(), kind)
            && let Some(text) = template.as_constant().filter(|text| !text.is_empty())
        {
            self.bare_texts.push((path.to_owned(), text.to_owned()));
        }
        Ok(Source::new(path, templates))
    }

    fn table_source(
        &mut self,
        path: &str,
        table: SourceTable,
        kind: Kind,
    ) -> Result<Source, String> {
        let SourceTable { from, constant, map, format, zone } = table;
        let has_times = !format.is_empty() || zone.is_some();
        if has_times && kind != Kind::Time {
            return Err("only times have a format and a zone".to_owned());
        }
        let templates = match constant {
            None if !from.is_empty() => self.templates(&format!("{path}.from"), &from)?,
            Some(text) if from.is_empty() => vec![Template::constant(text)],
            _ => {
                return Err("expected either from = \"{Column}\" or constant = \"text\"".to_owned());
            }
        };
        let map = map.into_iter().map(|(from, to)| (from.trim().to_owned(), to.into())).collect();
        let times = has_times.then(|| self.times.with(format, zone));
        Ok(Source { map, times, ..Source::new(path, templates) })
    }

    fn templates(&mut self, path: &str, texts: &[String]) -> Result<Vec<Template>, String> {
        let templates = texts.iter().map(|text| {
            Template::parse(text, path, &mut self.columns)
                .map_err(|error| format!("{text:?} {error}"))
        });
        let templates = templates.collect::<Result<Vec<_>, _>>()?;
        let constant = templates.iter().position(|one| one.as_constant().is_some());
        match constant {
            Some(at) if at + 1 < templates.len() => {
                Err("nothing after a constant is ever used".to_owned())
            }
            _ => Ok(templates),
        }
    }

    fn check_constants(&self, source: &Source, kind: Kind) -> Result<(), String> {
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
                return Err(format!("{text:?} {NUL}"));
            }
            kind.read(&text, &options)
                .map_err(|error| format!("{error}; for a column, write \"{{Column}}\""))?;
        }
        Ok(())
    }
}

/// Checks that each key is one of the fields, or `other`.
fn check_keys<T>(
    name: &str,
    section: &Section,
    other: &'static str,
    fields: &[Spec<T>],
) -> Result<(), MappingError> {
    let known: Vec<&str> = [other].into_iter().chain(fields.iter().map(|spec| spec.name)).collect();
    match section.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        Some((key, given)) => {
            let error = format!("unknown key; known here are {}", known.join(", "));
            Err(MappingError::new(given.span(), &format!("{name}.{key}"), error))
        }
        None => Ok(()),
    }
}

/// Checks that ids differ between orders, and are the same for all rows of one.
fn check_identity(field: &Field<OrderLine>, key: &[ColumnNo]) -> Result<(), &'static str> {
    let Field { spec, source } = field;
    let is_numbered = source.templates.iter().any(Template::numbers_rows);
    if !key.is_empty() && is_numbered {
        return Err("{#row} differs between the rows that order.key makes one order");
    }
    if spec.name == "orderId" && !is_numbered && source.columns().next().is_none() {
        return Err("is the same for each order; for a column, write \"{Column}\"");
    }
    Ok(())
}
