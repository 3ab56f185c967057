//! An accepted page is within the limits and reads back the same, however it is spelled.
#![no_main]

use std::collections::HashSet;

use kiosque_server::fuzzing::page_of;
use libfuzzer_sys::fuzz_target;

const SIZE_MAX: i64 = 1_000;

fuzz_target!(|query: &str| {
    let read = page_of(query, SIZE_MAX);
    match &read {
        Ok(page) => {
            assert!(page.current() >= 1);
            assert!((1..=SIZE_MAX).contains(&page.size()));
            assert!(page.skip() >= 0);
            let plain = format!("current={}&size={}", page.current(), page.size());
            assert_eq!(page_of(&plain, SIZE_MAX).as_ref(), Ok(page), "{plain}");
            // The limit is checked last: without it, nothing else changes.
            assert_eq!(page_of(query, i64::MAX).as_ref(), Ok(page));
        }
        Err(violations) => {
            assert!((1..=2).contains(&violations.len()));
            let fields: HashSet<_> = violations.iter().map(|one| one.field).collect();
            assert_eq!(fields.len(), violations.len(), "each field is reported once");
            assert!(fields.iter().all(|field| ["current", "size"].contains(field)));
        }
    }
    // Other keys, and the order of keys, do not matter.
    assert_eq!(page_of(&format!("currents=0&{query}&sizes="), SIZE_MAX), read);
    let mut pairs: Vec<&str> = query.split('&').collect();
    pairs.reverse();
    assert_eq!(page_of(&pairs.join("&"), SIZE_MAX), read);
    // Neither does percent-encoding.
    if !query.contains('%') {
        let encode = |byte: u8| match byte {
            b'&' | b'=' => char::from(byte).to_string(),
            _ => format!("%{byte:02x}"),
        };
        // An equals sign inside a value is preserved either way.
        let encoded: String = query.bytes().map(encode).collect();
        assert_eq!(page_of(&encoded, SIZE_MAX), read, "{encoded}");
    }
});
