//! Assembles orders from the rows that have the same key. Every row is read, so that all errors are
//! reported at once.

use std::collections::HashSet;

use kiosque_model::fleet::ProductEntry;
use kiosque_model::money::{MINOR_MAX, Minor};
use kiosque_model::order::line_pay_amount_following;

use super::bound_mapping::BoundMapping;
use super::fields::{Field, FieldValue};
use super::row::Row;
use super::row_values::RowValues;
use super::template::ColumnNo;
use super::{MappedOrder, OF_ANY_ORDER, RejectedRows};
use kiosque_contract::{Object, OrderLine, OrderLineItem};

/// Assembles the order of one or more rows.
///
/// # Errors
/// The rows, with everything that is wrong with them.
pub(super) fn assemble(
    mapping: &BoundMapping<'_>,
    rows: Vec<Row>,
) -> Result<MappedOrder, RejectedRows> {
    let mut errors = Vec::new();
    let is_keyed = !mapping.mapping.order.key.is_empty();
    let of_any_order = rows.iter().find(|row| is_keyed && mapping.is_misshapen(row));
    errors.extend(of_any_order.map(|row| format!("line {}: {OF_ANY_ORDER}", row.line)));
    let mut first: Option<(&Row, RowValues)> = None;
    let mut lines = Vec::new();
    let mut products = Vec::<ProductEntry>::new();
    let mut product_ids = HashSet::new();
    for row in &rows {
        let values = match mapping.row_error(row) {
            Some(error) => Err(vec![error]),
            None => RowValues::read(mapping, row),
        };
        let mut values = match values {
            Ok(values) => values,
            Err(reasons) => {
                errors.push(format!("line {}: {}", row.line, reasons.join("; ")));
                continue;
            }
        };
        lines.extend(values.line.take().map(Object));
        let product = values.product.take();
        products.extend(product.filter(|new| product_ids.insert(new.id.clone())));
        match &first {
            None => first = Some((row, values)),
            Some(first) => errors.extend(contradiction(mapping, first, (row, &values))),
        }
    }
    let Some((first, RowValues { order, device, .. })) = first.filter(|_| errors.is_empty()) else {
        return Err(RejectedRows::new(rows, &errors.join("; ")));
    };
    let first_line = first.line;
    match with_lines(mapping, order, lines) {
        Ok(order) => Ok(MappedOrder { first_line, rows, order, device, products }),
        Err(error) => Err(RejectedRows::new(rows, &format!("line {first_line}: {error}"))),
    }
}

/// Returns the first field in which two rows of an order differ, as an error.
fn contradiction(
    mapping: &BoundMapping<'_>,
    (first, known): &(&Row, RowValues),
    (row, values): (&Row, &RowValues),
) -> Option<String> {
    if known.order == values.order {
        return None;
    }
    let [one, other] = [known, values].map(|values| serde_json::to_value(&values.order).ok());
    let [one, other] = [one?, other?];
    let differs =
        |field: &&Field<OrderLine>| one.get(field.spec.name) != other.get(field.spec.name);
    let field = mapping.mapping.order.fields.iter().find(differs)?;
    let quoted = |row: &Row, column: ColumnNo| mapping.quoted(column, mapping.cell(row, column));
    let mut columns = field.source.columns();
    let column =
        columns.find(|column| mapping.cell(first, *column) != mapping.cell(row, *column))?;
    Some(format!(
        "lines {} and {}: column {}: {} and {} cannot both be the {} of one order",
        first.line,
        row.line,
        mapping.name(column),
        quoted(first, column),
        quoted(row, column),
        field.spec.name,
    ))
}

/// Adds the lines and their sums to an order.
fn with_lines(
    mapping: &BoundMapping<'_>,
    mut order: OrderLine,
    lines: Vec<Object<OrderLineItem>>,
) -> Result<OrderLine, String> {
    if !mapping.mapping.order.sums.is_empty() {
        let sum = sum_of(&lines)
            .ok_or_else(|| format!("the lines add up to more than {MINOR_MAX} minor units"))?;
        for spec in &mapping.mapping.order.sums {
            (spec.set)(&mut order, FieldValue::Number(sum));
        }
    }
    if mapping.mapping.line.is_some() {
        order.detail_vo_list = Some(lines);
    }
    Ok(order)
}

/// Returns the sum of the lines' amounts; `None` if one of them or the sum is too large.
fn sum_of(lines: &[Object<OrderLineItem>]) -> Option<i64> {
    let mut sum = 0_i64;
    for Object(line) in lines {
        let price = Minor(line.sale_price.unwrap_or(0));
        let amount = match line.pay_amount {
            Some(amount) => amount,
            None => line_pay_amount_following(price, line.count.unwrap_or(1))?.0,
        };
        sum = sum.checked_add(amount)?;
    }
    (sum.unsigned_abs() <= MINOR_MAX.unsigned_abs()).then_some(sum)
}
