//! Exchange rates, CSV with the columns `date`, `currency` and `usd_per_unit`, in any order.

use std::collections::HashMap;
use std::io::{self, Read};

use jiff::civil::Date;
use kiosque_model::sales::Rate;
use kiosque_model::{Currency, Day};
use kiosque_store::DatedRate;

use super::mapping::Shape;
use super::row::{Row, Rows};

const COLUMNS: [&str; 3] = ["date", "currency", "usd_per_unit"];
/// Faults that are told; the rest is counted.
const FAULTS_MAX: usize = 50;

/// Why no rates were read.
#[derive(Debug, thiserror::Error)]
pub enum RatesError {
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Input(#[from] io::Error),
    /// Everything that is wrong with it, each beginning with its line.
    #[error("{}", .0.join("\n"))]
    Faults(Vec<String>),
}

/// Reads all rates of a file, or none.
///
/// # Errors
/// The file cannot be read, or any of its lines is wrong.
pub fn read_rates(input: impl Read) -> Result<Vec<DatedRate>, RatesError> {
    let shape = Shape {
        delimiter: b',',
        quote: Some(b'"'),
        columns: None,
        lines_above_header: 0,
        trim: true,
    };
    let mut rows = Rows::open(input, &shape)?;
    let Some(header) = rows.next_row()? else {
        return Err(RatesError::Faults(vec![header_wanted("the file is empty")]));
    };
    let places = places(&header).map_err(|fault| RatesError::Faults(vec![fault]))?;
    let mut rates = Vec::new();
    let mut faults = Faults::default();
    let mut lines = HashMap::new();
    while let Some(row) = rows.next_row()? {
        match rate(&row, header.len(), places) {
            Ok(rate) => {
                let before = lines.insert((rate.currency.code(), rate.day), row.line);
                if let Some(before) = before {
                    let (currency, day) = (rate.currency, rate.day);
                    let fault = format!("{currency} on {day} stands on line {before}, too");
                    faults.note(row.line, &fault);
                }
                rates.push(rate);
            }
            Err(fault) => faults.note(row.line, &fault),
        }
    }
    faults.none().map(|()| rates)
}

#[derive(Default)]
struct Faults {
    told: Vec<String>,
    more: usize,
}

impl Faults {
    fn note(&mut self, line: u64, fault: &str) {
        if self.told.len() < FAULTS_MAX {
            self.told.push(format!("line {line}: {fault}"));
        } else {
            self.more += 1;
        }
    }

    fn none(mut self) -> Result<(), RatesError> {
        if self.told.is_empty() {
            return Ok(());
        }
        if self.more > 0 {
            self.told.push(format!("… and {} more", self.more));
        }
        Err(RatesError::Faults(self.told))
    }
}

fn header_wanted(fault: &str) -> String {
    format!("line 1: {fault}; the header must be {}", COLUMNS.join(","))
}

/// Where each of the columns stands.
fn places(header: &Row) -> Result<[usize; 3], String> {
    let names: Vec<&str> = (0..header.len()).map(|place| header.text(place).trim()).collect();
    let mut places = [0; 3];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        let mut found = (0..).zip(&names).filter(|(_, name)| **name == column);
        *place = match (found.next(), found.next()) {
            (Some((place, _)), None) => place,
            (None, _) => return Err(header_wanted(&format!("there is no column {column}"))),
            (Some(_), Some(_)) => {
                return Err(header_wanted(&format!("there are two columns {column}")));
            }
        };
    }
    Ok(places)
}

fn rate(
    row: &Row,
    width: usize,
    [date, currency, usd_per_unit]: [usize; 3],
) -> Result<DatedRate, String> {
    if let Some(flaw) = row.flaw {
        return Err(flaw.to_string());
    }
    // A decimal comma that nobody quoted makes one cell more, and another rate of the first part.
    if row.len() != width {
        return Err(format!("has {} cells, the header has {width}", row.len()));
    }
    let cell = |place: usize| row.text(place).trim();
    let day = date_of(cell(date))?;
    let currency = Currency::parse(cell(currency)).map_err(|fault| format!("currency: {fault}"))?;
    let rate = Rate::parse(cell(usd_per_unit)).map_err(|fault| format!("usd_per_unit: {fault}"))?;
    if currency == Currency::USD && rate != Rate::ONE {
        return Err("usd_per_unit: a dollar is worth 1".to_owned());
    }
    Ok(DatedRate { day, currency, rate })
}

fn date_of(text: &str) -> Result<Day, String> {
    let wrong = || format!("date: {text:?} is no date; write it like 2026-03-31");
    let date: Date = Date::strptime("%Y-%m-%d", text).map_err(|_| wrong())?;
    let plain = text.len() == 10 && (1970..=9998).contains(&date.year());
    plain.then(|| Day::of(date)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(text: &str) -> Result<Vec<String>, String> {
        let rates = read_rates(text.as_bytes()).map_err(|fault| fault.to_string())?;
        let told = rates
            .into_iter()
            .map(|DatedRate { day, currency, rate }| format!("{day} {currency} {}", rate.parts()));
        Ok(told.collect())
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
                assert_eq!(told(&lines.replace('|', line_end)), Ok(wanted.clone()), "{lines:?}");
            }
        }
        assert_eq!(told("date,currency,usd_per_unit\n"), Ok(Vec::new()));
    }

    #[test]
    fn every_fault_names_its_line_and_field() {
        let text = "date,currency,usd_per_unit\n2026-02-30,EUR,1\n2026-01-31,ZZZ,1\n\
                    2026-01-31,EUR,1,5\n2026-01-31,EUR,\"1,5\"\n2026-01-31,USD,2\n\
                    2026-01-31,EUR,2\n2026-01-31,EUR,3\n31.01.2026,EUR,1\n2026-1-31,EUR,1\n\
                    2026-01-31,EUR\n";
        let said = told(text).expect_err("faults");
        for fault in [
            "line 2: date: \"2026-02-30\" is no date; write it like 2026-03-31",
            "line 3: currency: ZZZ is not an ISO 4217 code",
            "line 4: has 4 cells, the header has 3",
            "line 5: usd_per_unit: \"1,5\" is not a decimal number above zero",
            "line 6: usd_per_unit: a dollar is worth 1",
            "line 8: EUR on 2026-01-31 stands on line 7, too",
            "line 9: date: \"31.01.2026\" is no date; write it like 2026-03-31",
            "line 10: date: \"2026-1-31\" is no date; write it like 2026-03-31",
            "line 11: has 2 cells, the header has 3",
        ] {
            assert!(said.lines().any(|line| line == fault), "{fault}\nis not in\n{said}");
        }
        assert_eq!(said.lines().count(), 9, "{said}");
        for (text, fault) in [
            ("", "line 1: the file is empty; the header must be date,currency,usd_per_unit"),
            (
                "date,currency\n",
                "line 1: there is no column usd_per_unit; \
                 the header must be date,currency,usd_per_unit",
            ),
        ] {
            assert_eq!(told(text), Err(fault.to_owned()));
        }
        let many = "date,currency,usd_per_unit\n".to_owned() + &"x,y,z\n".repeat(60);
        assert!(told(&many).expect_err("faults").ends_with("… and 10 more"));
    }

    proptest! {
        #[test]
        fn no_file_panics(text in "(date,currency,usd_per_unit\n)?([0-9A-Z,.\"-]{0,12}\n?){0,9}") {
            let _ = read_rates(text.as_bytes());
        }
    }
}
