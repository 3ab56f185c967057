//! Rows become an order: each row is read whole, so that every fault in it is told at once.

use kiosque_model::fleet::ProductEntry;
use kiosque_model::mask::masked;
use kiosque_model::money::{MINOR_MAX, Minor};
use kiosque_model::order::line_pay_amount_following;
use kiosque_model::time::Zone;
use serde_json::{Map, Value};

use super::field::{Field, Source};
use super::header::Header;
use super::mapping::Mapping;
use super::row::Row;
use super::skip::Wholeness;
use super::template::{ColumnNo, Template};
use super::told::Told;
use super::{MappedOrder, RejectedRows};

/// The longest reason, in bytes: a cell may be as long as a row.
const REASON_MAX_BYTES: usize = 1_000;

/// What rows are read with.
pub(super) struct Desk<'m> {
    pub(super) mapping: &'m Mapping,
    pub(super) header: Header,
    pub(super) zone: &'m Zone,
}

/// A row with what is wrong with it as a row, if anything.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) row: Row,
    pub(super) fault: Option<String>,
}

impl Desk<'_> {
    /// Looks at a row as a whole, before any of its cells means anything.
    pub(super) fn check(&self, row: Row) -> Checked {
        let fault = self.row_fault(&row);
        Checked { row, fault }
    }

    /// Which of the mapping's filters leaves the row out, if any.
    pub(super) fn left_out_by(&self, checked: &Checked) -> Option<usize> {
        let whole = if checked.fault.is_none() { Wholeness::Whole } else { Wholeness::Broken };
        self.mapping.skips.iter().position(|skip| {
            let cell = checked.row.cell(self.header.place(skip.column));
            cell.is_some_and(|cell| skip.takes(cell, whole))
        })
    }

    /// The cells that make a row one order with others; `None` when one of them is no key.
    pub(super) fn key(&self, checked: &Checked) -> Option<Vec<String>> {
        let cells = self.mapping.key.iter().map(|column| {
            let cell = checked.row.cell(self.header.place(*column))?;
            let text = std::str::from_utf8(cell).ok()?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        });
        cells.collect()
    }

    /// Why rows without a key are rejected.
    pub(super) fn no_key(&self, row: &Row) -> String {
        let empty = |column: &&ColumnNo| row.text(self.header.place(**column)).trim().is_empty();
        let names: Vec<String> =
            self.mapping.key.iter().filter(empty).map(|c| self.name(*c)).collect();
        format!("column {} is empty, so that the row belongs to no order", names.join(", "))
    }

    /// The order of these rows, which are at least one.
    pub(super) fn order(&self, rows: &[Checked]) -> Result<MappedOrder, RejectedRows> {
        let mut faults = Vec::new();
        let mut made: Option<(&Row, Told)> = None;
        let (mut lines, mut products) = (Vec::new(), Vec::<ProductEntry>::new());
        for Checked { row, fault } in rows {
            let told = match fault {
                Some(fault) => Err(vec![fault.clone()]),
                None => self.told(row),
            };
            let mut told = match told {
                Ok(told) => told,
                Err(reasons) => {
                    faults.push(format!("line {}: {}", row.line, reasons.join("; ")));
                    continue;
                }
            };
            lines.extend(told.line.take());
            let product = told.product.take();
            let is_new = |new: &ProductEntry| !products.iter().any(|known| known.id == new.id);
            products.extend(product.filter(is_new));
            match &made {
                None => made = Some((row, told)),
                Some((first, known)) => faults.extend(self.contradiction(first, known, row, &told)),
            }
        }
        let Some((first, told)) = made.filter(|_| faults.is_empty()) else {
            return Err(self.rejected(rows, &faults.join("; ")));
        };
        let first_line = first.line;
        let order = self
            .whole(told.order, lines)
            .map_err(|fault| self.rejected(rows, &format!("line {first_line}: {fault}")))?;
        let lines = rows.iter().map(|checked| checked.row.line).collect();
        Ok(MappedOrder { first_line, lines, order, device: told.device, products })
    }

    /// The rejection of rows, their cells masked.
    pub(super) fn rejected<'r>(
        &self,
        rows: impl IntoIterator<Item = &'r Checked>,
        reason: &str,
    ) -> RejectedRows {
        let rows = rows.into_iter().map(|checked| &checked.row);
        let (lines, rows) = rows.map(|row| (row.line, self.header.cells(row))).unzip();
        RejectedRows { lines, reason: shortened(reason), rows }
    }

    fn row_fault(&self, row: &Row) -> Option<String> {
        let runs_on = || {
            let open = "; is a quote left open?";
            let last = row.last_line;
            if last > row.line { format!(", and runs to line {last}{open}") } else { String::new() }
        };
        if let Some(flaw) = row.flaw {
            return Some(format!("the row {flaw}{}", runs_on()));
        }
        if row.len() != self.header.width() {
            let (has, width) = (row.len(), self.header.width());
            return Some(format!("the row has {has} cells under {width} columns{}", runs_on()));
        }
        row.cells().enumerate().find_map(|(place, cell)| {
            let fault = match std::str::from_utf8(cell) {
                Err(_) => "bytes that are no UTF-8",
                Ok(text) if text.contains('\0') => "a NUL character",
                Ok(_) => return None,
            };
            Some(format!("column {}: has {fault}", self.header.name(place)))
        })
    }

    /// Where two rows of one order tell different things of it.
    fn contradiction(&self, first: &Row, known: &Told, row: &Row, told: &Told) -> Option<String> {
        let differs = |field: &&Field| known.order.get(field.name) != told.order.get(field.name);
        let field = self.mapping.order.iter().find(differs)?;
        let cell = |row: &Row, column: ColumnNo| self.shown(column, self.cell(row, column));
        let columns = field.source.columns();
        let column = columns.into_iter().find(|c| self.cell(first, *c) != self.cell(row, *c))?;
        Some(format!(
            "lines {} and {}: column {}: {} and {} cannot both be the {} of one order",
            first.line,
            row.line,
            self.name(column),
            cell(first, column),
            cell(row, column),
            field.name,
        ))
    }

    /// The order with its lines and the sums of them.
    fn whole(
        &self,
        mut order: Map<String, Value>,
        lines: Vec<Map<String, Value>>,
    ) -> Result<Map<String, Value>, String> {
        if !self.mapping.sums.is_empty() {
            let sum = sum_of(&lines)
                .ok_or_else(|| format!("the lines add up to more than {MINOR_MAX} minor units"))?;
            for name in &self.mapping.sums {
                order.insert((*name).to_owned(), Value::from(sum));
            }
        }
        if self.mapping.line.is_some() {
            let lines = lines.into_iter().map(Value::Object).collect();
            order.insert("detailVOList".to_owned(), Value::Array(lines));
        }
        Ok(order)
    }

    pub(super) fn cell<'r>(&self, row: &'r Row, column: ColumnNo) -> &'r str {
        let cell = row.text(self.header.place(column));
        if self.mapping.shape.trim { cell.trim() } else { cell }
    }

    pub(super) fn name(&self, column: ColumnNo) -> String {
        self.mapping.columns.column(column).name.clone()
    }

    /// A cell as a reason shows it.
    fn shown(&self, column: ColumnNo, text: &str) -> String {
        let secret = self.mapping.columns.column(column).secret;
        if secret { format!("{:?}", masked(text)) } else { format!("{text:?}") }
    }

    /// What a reason calls the place that a value came from.
    pub(super) fn place(&self, way: &Template, source: &Source) -> String {
        let names: Vec<String> = way.columns().map(|column| self.name(column)).collect();
        match names.as_slice() {
            [] => source.path.clone(),
            [one] => format!("column {one}"),
            several => format!("columns {}", several.join(", ")),
        }
    }
}

/// What the lines cost together; `None` when that is beyond belief.
fn sum_of(lines: &[Map<String, Value>]) -> Option<i64> {
    let number = |line: &Map<String, Value>, name: &str| line.get(name).and_then(Value::as_i64);
    let mut sum = 0_i64;
    for line in lines {
        let price = Minor(number(line, "salePrice").unwrap_or(0));
        let amount = match number(line, "payAmount") {
            Some(amount) => amount,
            None => line_pay_amount_following(price, number(line, "count").unwrap_or(1))?.0,
        };
        sum = sum.checked_add(amount)?;
    }
    (sum.unsigned_abs() <= MINOR_MAX.unsigned_abs()).then_some(sum)
}

fn shortened(reason: &str) -> String {
    if reason.len() <= REASON_MAX_BYTES {
        return reason.to_owned();
    }
    format!("{}…", &reason[..reason.floor_char_boundary(REASON_MAX_BYTES)])
}
