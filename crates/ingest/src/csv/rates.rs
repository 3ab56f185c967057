//! Reads exchange rates: CSV with the columns `date`, `currency` and `usd_per_unit`, in any order.

use std::collections::HashMap;
use std::io::{self, Read};

use jiff::civil::Date;
use kiosque_model::sales::Rate;
use kiosque_model::{Currency, Day};
use kiosque_store::DatedRate;

use super::head::WithHead;
use super::mapping::FileFormat;
use super::row::{Row, Rows};
use crate::file_kind;

const COLUMNS: [&str; 3] = ["date", "currency", "usd_per_unit"];
/// Maximum number of listed errors; further ones are counted.
const ERRORS_MAX: usize = 50;

/// Why a file of rates was refused.
#[derive(Debug, thiserror::Error)]
pub enum RatesError {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Input(#[from] io::Error),
    /// All problems, each beginning with its line.
    #[error("{}", .0.join("\n"))]
    Invalid(Vec<String>),
}

/// The rates of a file.
#[derive(Debug)]
pub struct ReadRates {
    /// The rates, in the order of the file.
    pub rates: Vec<DatedRate>,
    /// The last line, if it has no line end.
    pub cut_line: Option<u64>,
}

/// Reads the rates of a file.
///
/// # Errors
/// The file cannot be read, or any of its lines is invalid.
pub fn read_rates(input: impl Read) -> Result<ReadRates, RatesError> {
    let input = WithHead::read(input);
    if let Some(kind) = file_kind::binary(input.head()) {
        return Err(RatesError::Invalid(vec![format!("the file {kind}")]));
    }
    let mut rows = Rows::open(input, &FileFormat::default())?;
    let Some(header) = rows.next_row()? else {
        return Err(RatesError::Invalid(vec![bad_header("the file is empty")]));
    };
    let positions = positions(&header).map_err(|error| RatesError::Invalid(vec![error]))?;
    let mut rates = Vec::new();
    let mut lines = HashMap::new();
    let mut errors = Vec::new();
    let mut more = 0_usize;
    let mut note = |line: u64, error: &str| match errors.len() < ERRORS_MAX {
        true => errors.push(format!("line {line}: {error}")),
        false => more += 1,
    };
    while let Some(row) = rows.next_row()? {
        match rate(&row, header.len(), positions) {
            Ok(rate) => {
                let before = lines.insert((rate.currency.code(), rate.day), row.line);
                if let Some(before) = before {
                    let (currency, day) = (rate.currency, rate.day);
                    let error =
                        format!("duplicate rate of {currency} on {day}, first on line {before}");
                    note(row.line, &error);
                }
                rates.push(rate);
            }
            Err(error) => note(row.line, &error),
        }
    }
    if errors.is_empty() {
        return Ok(ReadRates { rates, cut_line: rows.cut_line });
    }
    if more > 0 {
        errors.push(format!("… and {more} more"));
    }
    Err(RatesError::Invalid(errors))
}

fn bad_header(error: &str) -> String {
    format!("line 1: {error}; the header must be {}", COLUMNS.join(","))
}

/// Returns the position of each column.
fn positions(header: &Row) -> Result<[usize; 3], String> {
    let names: Vec<&str> = (0..header.len()).map(|place| header.text(place).trim()).collect();
    let mut positions = [0; 3];
    for (place, column) in positions.iter_mut().zip(COLUMNS) {
        let mut found = (0..).zip(&names).filter(|(_, name)| **name == column);
        *place = match (found.next(), found.next()) {
            (Some((place, _)), None) => place,
            (None, _) => return Err(bad_header(&format!("there is no column {column}"))),
            (Some(_), Some(_)) => {
                return Err(bad_header(&format!("there are two columns {column}")));
            }
        };
    }
    Ok(positions)
}

fn rate(
    row: &Row,
    width: usize,
    [date, currency, usd_per_unit]: [usize; 3],
) -> Result<DatedRate, String> {
    if let Some(flaw) = row.flaw {
        return Err(flaw.to_string());
    }
    // An unquoted decimal comma splits a rate into two cells, and the first looks like a rate.
    if row.len() != width {
        return Err(format!("has {} cells, the header has {width}", row.len()));
    }
    if row.cells().any(|cell| std::str::from_utf8(cell).is_err()) {
        return Err("has bytes that are not UTF-8".to_owned());
    }
    let cell = |place: usize| row.text(place).trim();
    let day = date_of(cell(date))?;
    let currency = Currency::parse(cell(currency)).map_err(|error| format!("currency: {error}"))?;
    let rate = Rate::parse(cell(usd_per_unit)).map_err(|error| format!("usd_per_unit: {error}"))?;
    if currency == Currency::USD && rate != Rate::ONE {
        return Err(format!("usd_per_unit: {rate} for USD; it is 1, and the line can be omitted"));
    }
    Ok(DatedRate { day, currency, rate })
}

fn date_of(text: &str) -> Result<Day, String> {
    let wrong =
        || format!("date: {text:?} is not a date from 1970 to 9998; write it like 2026-03-31");
    let date: Date = Date::strptime("%Y-%m-%d", text).map_err(|_| wrong())?;
    let plain = text.len() == 10 && (1970..=9998).contains(&date.year());
    plain.then(|| Day::of(date)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let read = read_rates(text.as_bytes()).map_err(|error| error.to_string())?;
        let is_cut = !text.ends_with('\n');
        assert_eq!(read.cut_line.is_some(), is_cut, "{text:?}");
        let rates = read
            .rates
            .into_iter()
            .map(|DatedRate { day, currency, rate }| format!("{day} {currency} {}", rate.parts()));
        Ok(rates.collect())
    }

    #[test]
    fn rates_are_read_in_any_order_of_columns() {
        let wanted = ["2026-01-31 EUR 1083700000000", "1970-01-01 JPY 6700000000"];
        let wanted = wanted.map(str::to_owned).to_vec();
        for lines in [
            "date,currency,usd_per_unit|2026-01-31,EUR,1.0837|1970-01-01,JPY,0.0067|",
            "\u{feff}date,currency,usd_per_unit|2026-01-31,EUR,1.0837||1970-01-01,JPY,0.0067",
            "usd_per_unit,source,date,currency|1.0837,x,2026-01-31,EUR|0.0067,,1970-01-01,JPY",
            "\"date\", currency ,usd_per_unit|\"2026-01-31\", EUR , 1.0837|1970-01-01,JPY,0.0067",
        ] {
            for line_end in ["\n", "\r\n"] {
                assert_eq!(read(&lines.replace('|', line_end)), Ok(wanted.clone()), "{lines:?}");
            }
        }
        assert_eq!(read("date,currency,usd_per_unit\n"), Ok(Vec::new()));
    }

    #[test]
    fn every_error_names_its_line_and_field() {
        let text = "date,currency,usd_per_unit\n2026-02-30,EUR,1\n2026-01-31,ZZZ,1\n\
                    2026-01-31,EUR,1,5\n2026-01-31,EUR,\"1,5\"\n2026-01-31,USD,2\n\
                    2026-01-31,EUR,2\n2026-01-31,EUR,3\n31.01.2026,EUR,1\n2026-1-31,EUR,1\n\
                    2026-01-31,EUR\n0001-01-01,EUR,1\n9999-12-31,EUR,1\n2026-01-31,JPY,1000000.1\n";
        let said = read(text).expect_err("errors");
        let no_date = |line: u64, text: &str| {
            format!(
                "line {line}: date: {text:?} is not a date from 1970 to 9998; write it like \
                 2026-03-31"
            )
        };
        for error in [
            no_date(2, "2026-02-30").as_str(),
            "line 3: currency: ZZZ is not an ISO 4217 code",
            "line 4: has 4 cells, the header has 3",
            "line 5: usd_per_unit: \"1,5\" is not a decimal number above zero",
            "line 6: usd_per_unit: 2 for USD; it is 1, and the line can be omitted",
            "line 8: duplicate rate of EUR on 2026-01-31, first on line 7",
            no_date(9, "31.01.2026").as_str(),
            no_date(10, "2026-1-31").as_str(),
            "line 11: has 2 cells, the header has 3",
            no_date(12, "0001-01-01").as_str(),
            no_date(13, "9999-12-31").as_str(),
            "line 14: usd_per_unit: \"1000000.1\" is more than a million dollars per unit",
        ] {
            assert!(said.lines().any(|line| line == error), "{error}\nis not in\n{said}");
        }
        assert_eq!(said.lines().count(), 12, "{said}");
        for (text, error) in [
            ("", "line 1: the file is empty; the header must be date,currency,usd_per_unit"),
            (
                "date,currency\n",
                "line 1: there is no column usd_per_unit; \
                 the header must be date,currency,usd_per_unit",
            ),
        ] {
            assert_eq!(read(text), Err(error.to_owned()));
        }
        for (bytes, error) in [
            (&b"\xff\xfed\0"[..], "the file is UTF-16; save it as UTF-8"),
            (
                b"date,currency,usd_per_unit\n2026-01-31,\xff,1\n",
                "line 2: has bytes that are not UTF-8",
            ),
        ] {
            assert_eq!(read_rates(bytes).expect_err(error).to_string(), error);
        }
        let many = "date,currency,usd_per_unit\n".to_owned() + &"x,y,z\n".repeat(60);
        assert!(read(&many).expect_err("errors").ends_with("… and 10 more"));
    }

    proptest! {
        #[test]
        fn no_file_panics(text in "(date,currency,usd_per_unit\n)?([0-9A-Z,.\"-]{0,12}\n?){0,9}") {
            let _ = read_rates(text.as_bytes());
        }
    }
}
