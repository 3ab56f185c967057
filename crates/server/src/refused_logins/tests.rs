use proptest::prelude::*;

use super::*;

const START: i64 = 1_772_445_600_000;

fn origin(source: &str, ms: i64) -> Origin {
    let source = source.parse().expect("an address");
    Origin { source, request_id: format!("r-{ms}"), at: UnixMs(START + ms) }
}

fn ops() -> Option<LoginName> {
    LoginName::parse("ops").ok()
}

/// An entry on one line.
fn line(record: &AuditRecord) -> String {
    let source = record.source.map_or_else(|| "many".to_owned(), |source| source.to_string());
    let (account, detail) = (record.account.as_deref(), record.detail.as_deref());
    let request = record.request_id.as_deref().unwrap_or_default();
    let (account, detail) = (account.unwrap_or("-"), detail.unwrap_or_default());
    format!("{} {account} {source} {detail} x{} {request}", record.at.0 - START, record.count)
}

fn lines(records: &[AuditRecord]) -> Vec<String> {
    records.iter().map(line).collect()
}

/// The first three refused logins of an account and a source in a minute are separate entries; the
/// others of that minute are one entry with a `count`.
#[test]
fn the_first_three_of_a_minute_are_single_entries_and_the_rest_one() {
    let mut refusals = Refusals::default();
    for ms in 0..8 {
        let error = if ms < 6 { LoginRefusal::Credentials } else { LoginRefusal::Limited };
        refusals.add(ops(), error, &origin("192.0.2.1", ms));
    }
    refusals.add(None, LoginRefusal::Credentials, &origin("192.0.2.1", 8));
    refusals.add(ops(), LoginRefusal::Credentials, &origin("2001:db8::1", 9));
    let due = lines(&refusals.due(UnixMs(START + 1_000)));
    assert_eq!(
        due,
        [
            "0 ops 192.0.2.1 credentials x1 r-0",
            "1 ops 192.0.2.1 credentials x1 r-1",
            "2 ops 192.0.2.1 credentials x1 r-2",
            "8 - 192.0.2.1 credentials x1 r-8",
            "9 ops 2001:db8::1 credentials x1 r-9",
        ]
    );
    assert!(refusals.due(UnixMs(START + 59_999)).is_empty());
    let due = lines(&refusals.due(UnixMs(START + 60_000)));
    assert_eq!(due, ["5 ops 192.0.2.1 credentials x3 r-5", "7 ops 192.0.2.1 limited x2 r-7"]);
    // The next minute starts again, even without a flush in between; and at the end everything is
    // written.
    for ms in 60_001..60_006 {
        refusals.add(ops(), LoginRefusal::NoGroup, &origin("192.0.2.1", ms));
    }
    refusals.add(ops(), LoginRefusal::NoGroup, &origin("192.0.2.1", 120_001));
    assert_eq!(
        lines(&refusals.due(UnixMs::MAX)),
        [
            "60001 ops 192.0.2.1 noGroup x1 r-60001",
            "60002 ops 192.0.2.1 noGroup x1 r-60002",
            "60003 ops 192.0.2.1 noGroup x1 r-60003",
            "60005 ops 192.0.2.1 noGroup x2 r-60005",
            "120001 ops 192.0.2.1 noGroup x1 r-120001",
        ]
    );
    assert!(refusals.due(UnixMs::MAX).is_empty());
}

/// An attack from many sources fills neither the memory nor the disk: beyond a number of sources,
/// the remaining refusals of an account are counted without them.
#[test]
fn sources_beyond_the_maximum_are_combined() {
    let mut refusals = Refusals::default();
    for number in 0..1_000_u32 {
        let source = std::net::Ipv4Addr::from_bits(0x7F01_0000 + number).to_string();
        (0..5).for_each(|_| refusals.add(ops(), LoginRefusal::Credentials, &origin(&source, 7)));
    }
    let all = refusals.due(UnixMs::MAX);
    assert_eq!(all.len(), SOURCES_MAX * 4 + 1);
    let count: i64 = all.iter().map(|one| one.count).sum();
    assert_eq!(count, 5_000);
    let many: Vec<String> = all.iter().map(line).filter(|line| line.contains("many")).collect();
    assert_eq!(many, [format!("7 ops many credentials x{} r-7", 5_000 - 5 * SOURCES_MAX)]);
}

#[test]
fn entries_beyond_the_maximum_are_lost() {
    let mut refusals = Refusals::default();
    refusals.add(ops(), LoginRefusal::Credentials, &origin("192.0.2.1", 0));
    let one = refusals.due(UnixMs(START)).remove(0);
    (0..READY_MAX + 5).for_each(|_| refusals.make_ready(one.clone()));
    assert_eq!((refusals.due(UnixMs(START)).len(), refusals.lost), (READY_MAX, 5));
}

proptest! {
    /// Every refusal is counted exactly once, and never in more than a few entries per source.
    #[test]
    fn every_refusal_is_counted_once(
        steps in prop::collection::vec(
            (0_i64..30_000, 0_u8..4, any::<bool>(), any::<bool>()),
            0..200,
        ),
    ) {
        let (mut refusals, mut ms, mut written) = (Refusals::default(), 0, Vec::new());
        for (pass, place, known, flush) in &steps {
            ms += pass;
            let account = ops().filter(|_| *known);
            let origin = origin(&format!("192.0.2.{place}"), ms);
            refusals.add(account, LoginRefusal::Credentials, &origin);
            if *flush {
                written.append(&mut refusals.due(UnixMs(START + ms)));
            }
        }
        written.append(&mut refusals.due(UnixMs::MAX));
        let count: i64 = written.iter().map(|one| one.count).sum();
        prop_assert_eq!(usize::try_from(count).ok(), Some(steps.len()));
        prop_assert!(written.iter().all(|one| one.count >= 1 && one.at.0 <= START + ms));
    }
}
