//! A mapping file: an error has a position in the file, and parsing it twice has the same result.
#![no_main]

use kiosque_ingest::csv::Mapping;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Err(error) = Mapping::parse(text) else { return };
    let place = error.strip_prefix("line ").and_then(|rest| rest.split_once([':', ',']));
    let (line, reason) = place.unwrap_or_else(|| panic!("no line: {error}"));
    let line: usize = line.parse().unwrap_or_else(|_| panic!("no number of a line: {error}"));
    assert!((1..=text.split('\n').count()).contains(&line), "{error}");
    assert!(!reason.trim().is_empty(), "{error}");
    assert_eq!(Mapping::parse(text).err(), Some(error));
});
