//! A mapping, a line of three equals signs, a report: no row is lost silently and none is processed
//! twice, regardless of how the bytes arrive.
#![no_main]

use std::collections::HashSet;
use std::io::{self, Read};
use std::time::Duration;

use kiosque_ingest::UnknownKeys;
use kiosque_ingest::csv::{self, MappedOrder, Mapping, RejectedRows};
use kiosque_ingest::given_order::{self, DateRules};
use kiosque_model::{UnixMs, Zone};
use libfuzzer_sys::fuzz_target;

const BORDER: &str = "\n===\n";

fuzz_target!(|data: &[u8]| {
    let border = data.windows(BORDER.len()).position(|part| part == BORDER.as_bytes());
    let (mapping, report) = match border {
        Some(at) => (&data[..at], &data[at + BORDER.len()..]),
        None => (data, &b""[..]),
    };
    let Ok(text) = std::str::from_utf8(mapping) else { return };
    let mapping = match Mapping::parse(text) {
        Ok(mapping) => mapping,
        Err(error) => return assert!(error.starts_with("line "), "{error}"),
    };
    let whole = outcome(report, &mapping);
    let in_drops = outcome(Drops(report), &mapping);
    assert_eq!(whole, in_drops, "the size of reads changes nothing");
    if let Ok(items) = whole {
        items.iter().for_each(one);
    }
});

fn readable(errors: &[String]) -> bool {
    !errors.is_empty() && errors.iter().all(|error| !error.is_empty())
}

type Item = Result<MappedOrder, RejectedRows>;

fn outcome(report: impl Read, mapping: &Mapping) -> Result<Vec<Item>, Vec<String>> {
    let zone = Zone::utc();
    let mut reading = match csv::read(report, mapping, &zone) {
        Ok(reading) => reading,
        Err(errors) => {
            assert!(readable(&errors));
            return Err(errors);
        }
    };
    let items: Vec<Item> = reading.by_ref().collect();
    assert!(reading.next().is_none(), "an ended report stays ended");
    let rows = items.iter().flat_map(|item| match item {
        Ok(order) => &order.rows,
        Err(rejected) => &rejected.rows,
    });
    let lines: Vec<u64> = rows.map(|row| row.line).collect();
    let distinct: HashSet<u64> = lines.iter().copied().collect();
    assert_eq!(distinct.len(), lines.len(), "a row is reported once");
    let left_out: u64 = reading.left_out().iter().map(|(_, count)| count).sum();
    assert_eq!(lines.len() as u64 + left_out, reading.rows(), "every row is reported");
    Ok(items)
}

fn one(item: &Item) {
    match item {
        Ok(mapped) => {
            let lines = mapped.rows.iter().map(|row| row.line);
            assert_eq!(lines.min(), Some(mapped.first_line));
            let zone = Zone::utc();
            let dates = DateRules { zone: &zone, now: UnixMs::MAX, lead_max: Duration::ZERO };
            let checked = given_order::check(mapped.order.clone(), &dates);
            let line = serde_json::to_string(&mapped.order).expect("JSON");
            let parsed = given_order::parse(line.as_bytes(), &dates, &mut UnknownKeys::default());
            assert_eq!(checked, parsed, "the same as a line of an order file: {line}");
        }
        Err(rejected) => {
            assert!(rejected.reason.starts_with("line"), "{}", rejected.reason);
        }
    }
}

/// Returns one byte at a time.
struct Drops<'a>(&'a [u8]);

impl Read for Drops<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (Some((first, rest)), Some(place)) = (self.0.split_first(), into.first_mut()) else {
            return Ok(0);
        };
        *place = *first;
        self.0 = rest;
        Ok(1)
    }
}
