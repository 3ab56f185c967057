//! The body of an operator's stream as JSON: its elements do not depend on the pieces in which it
//! arrives, and those of a valid array equal the ones found by a parser of the whole array.
#![no_main]

use kiosque_ingest::json_body::{JsonError, JsonSplitter};
use kiosque_ingest::ndjson::RawLine;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|input: (u8, &[u8])| {
    let (size, body) = input;
    let (elements, error) = split(body, usize::from(size) + 1);
    assert_eq!((&elements, error), (&split(body, usize::MAX).0, split(body, usize::MAX).1));
    let whole = std::str::from_utf8(body).ok().and_then(|text| serde_json::from_str(text).ok());
    if let Some(Value::Array(values)) = whole {
        assert_eq!(error, None);
        let read = elements.iter().map(|one| serde_json::from_slice::<Value>(&one.text));
        let read: Vec<Value> = read.map(|value| value.expect("an element is JSON")).collect();
        assert_eq!(read, values);
        assert!(elements.iter().map(|one| one.number).eq(1..=values.len() as u64));
    }
});

fn split(body: &[u8], size: usize) -> (Vec<RawLine>, Option<JsonError>) {
    let mut splitter = JsonSplitter::default();
    let mut elements = Vec::new();
    for mut piece in body.chunks(size) {
        while !piece.is_empty() {
            let (consumed, element) = splitter.push(piece);
            piece = &piece[consumed..];
            match element {
                Ok(element) => elements.extend(element),
                Err(error) => return (elements, Some(error)),
            }
        }
    }
    match splitter.finish() {
        Ok(last) => elements.extend(last),
        Err(error) => return (elements, Some(error)),
    }
    (elements, None)
}
