//! Whatever is parsed as a time is formatted as the same time, in every zone.
#![no_main]

use std::sync::LazyLock;

use kiosque_model::time::TimeError;
use kiosque_model::{UnixMs, Zone};
use libfuzzer_sys::fuzz_target;

/// Whole hours, half and quarter hours, days that were skipped, and changes at midnight.
const ZONES: [&str; 8] = [
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/Sao_Paulo",
    "Africa/Monrovia",
];

static KNOWN: LazyLock<Vec<Zone>> =
    LazyLock::new(|| ZONES.iter().map(|name| Zone::named(name).expect("a known zone")).collect());

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let zone = &KNOWN[usize::from(*first) % KNOWN.len()];
    let (time, either) = (zone.parse(text), zone.parse_time_or_date(text));
    match (&time, &either) {
        (Ok(at), Ok(same)) => assert_eq!(at, same),
        (Ok(_), Err(error)) => panic!("a time is one without its date form, too: {error}"),
        (Err(_), Ok(at)) => {
            let day = zone.day_of(*at);
            assert_eq!((day.to_string().as_str(), zone.start_of(day)), (text, *at));
        }
        (Err(_), Err(error)) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(at) = time {
        taken(zone, text, at);
    }
    if let Ok(named) = Zone::named(text) {
        assert_eq!(Zone::named(named.name()).as_ref(), Ok(&named));
    }
});

fn taken(zone: &Zone, text: &str, at: UnixMs) {
    assert!((0..=UnixMs::MAX.0).contains(&at.0));
    let written = zone.text(at);
    match zone.parse(&written) {
        Ok(back) => assert_eq!(back.0, at.0 / 1_000 * 1_000, "{text} is written {written}"),
        // Only an offset distinguishes the two hours that a clock shows twice.
        Err(TimeError::Ambiguous(..)) => assert_ne!(text.len(), written.len(), "{text}"),
        // The last hours of 9999 in a zone behind UTC are within, and so are the first of 1970.
        Err(error) => panic!("{text} is written {written}: {error}"),
    }
    if text.len() == written.len() {
        assert_eq!(text, written, "the contract's form stays as it is");
    }
    let utc = Zone::utc();
    let back = utc.parse(&format!("{}Z", utc.text(at))).expect("UTC skips and repeats nothing");
    assert_eq!(back.0, at.0 / 1_000 * 1_000);
}
