//! Reads `current` and `size` from the query string, and from nowhere else.

use kiosque_model::refusal::Fault;
use kiosque_model::{PageRequest, Violation};

/// The page that a query string asks for; defaults 1 and 10.
///
/// # Errors
/// Every violation of the two keys.
pub fn page_of(query: &str, size_max: i64) -> Result<PageRequest, Vec<Violation>> {
    let current = number(query, "current", 1);
    let size = number(query, "size", PageRequest::SIZE_DEFAULT).and_then(|size| {
        if size <= size_max {
            Ok(size)
        } else {
            Err(violation("size", Fault::OverMaximum(size_max)))
        }
    });
    match (current, size) {
        (Ok(current), Ok(size)) => PageRequest::new(current, size)
            .ok_or_else(|| vec![violation("current", Fault::NotPositive)]),
        (current, size) => Err([current.err(), size.err()].into_iter().flatten().collect()),
    }
}

fn violation(field: &'static str, fault: Fault) -> Violation {
    Violation { field, fault }
}

fn number(query: &str, key: &'static str, default: i64) -> Result<i64, Violation> {
    let mut values = values(query, key);
    let Some(value) = values.next() else { return Ok(default) };
    if values.next().is_some() {
        return Err(violation(key, Fault::Repeated));
    }
    // Digits alone: no sign, no space, no digits of another script.
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(&value).ok().filter(|_| digits);
    number
        .and_then(|number| number.parse::<i64>().ok())
        .filter(|number| *number >= 1)
        .ok_or(violation(key, Fault::NotPositive))
}

/// Every value of a key, as bytes.
pub(crate) fn values(query: &str, key: &str) -> impl Iterator<Item = Vec<u8>> {
    query.split('&').filter_map(move |pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name) == key.as_bytes()).then(|| decoded(value))
    })
}

/// Undoes percent-encoding; a stray `%` stays one.
fn decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(query: &str) -> Result<(i64, i64), Vec<(&'static str, Fault)>> {
        page_of(query, 1_000)
            .map(|page| (page.current(), page.size()))
            .map_err(|all| all.into_iter().map(|one| (one.field, one.fault)).collect())
    }

    #[test]
    fn only_positive_integers_in_ascii_digits_are_pages() {
        assert_eq!(read(""), Ok((1, 10)));
        assert_eq!(read("current=2&size=50&other=x"), Ok((2, 50)));
        assert_eq!(read("current=007&size=%31%30"), Ok((7, 10)));
        assert_eq!(read("current=9223372036854775807"), Ok((i64::MAX, 10)));
        assert_eq!(read("size=1000"), Ok((1, 1_000)));
        for bad in [
            "0",
            "-1",
            "+1",
            "1.0",
            "1e3",
            "",
            " 1",
            "1%20",
            "%00",
            "٣",
            "x",
            "9223372036854775808",
        ] {
            assert_eq!(read(&format!("current={bad}")), Err(vec![("current", Fault::NotPositive)]));
        }
        assert_eq!(read("current"), Err(vec![("current", Fault::NotPositive)]));
        assert_eq!(read("size=1001"), Err(vec![("size", Fault::OverMaximum(1_000))]));
        assert_eq!(
            read("size=5&size=5&current=0"),
            Err(vec![("current", Fault::NotPositive), ("size", Fault::Repeated)])
        );
    }

    proptest! {
        #[test]
        fn no_query_panics(query in ".{0,60}") {
            let _ = page_of(&query, 1_000);
        }
    }
}
