//! The audit trail: logins, switches, log outs, refused logins and replaced sessions, with address,
//! time and request id, and every change of the fleet.

use kiosque_contract::{AuditDetails, AuditEntry};
use kiosque_model::audit::{AuditEvent, AuditRecord, Interruption};
use kiosque_model::fleet::{AccountEntry, Fleet};
use kiosque_model::{ActedBy, Claim, GroupId, KeyName, Origin, PresentedToken, UnixMs};
use kiosque_store::{Act, Archived, AuditQuery, Error, NewHashes, PendingEvents};
use kiosque_testkit::entries::bare_account;
use kiosque_testkit::{NOW, TestData, TestStore, clock_at, origin, sql};

const HOUR_MS: i64 = 3_600_000;

fn at(ms: i64) -> UnixMs {
    NOW.plus_ms(ms)
}

async fn log_in(fixture: &TestStore, origin: Origin, lasts_ms: i64) -> PresentedToken {
    let end = origin.at.plus_ms(lasts_ms);
    fixture.log_in_until("ops", 7, end, origin).await.unwrap()
}

fn ask() -> AuditQuery {
    AuditQuery::latest(1_000)
}

async fn list(fixture: &TestStore, ask: AuditQuery) -> Vec<AuditEntry> {
    fixture.store.trail().entries(ask).await.unwrap().entries
}

/// Returns an entry on one line, without absent fields.
fn line(entry: &AuditEntry) -> String {
    let mut line = format!("{} {} {}", entry.entry_no, entry.timestamp - NOW.0, entry.event);
    let mut add = |name: &str, value: Option<String>| {
        line.extend(value.map(|value| format!(" {name}={value}")));
    };
    add("account", entry.account.clone());
    add("actor", entry.actor.clone());
    add("source", entry.source.clone());
    add("request", entry.request_id.clone());
    add("group", entry.group_id.clone());
    add("count", Some(entry.count.to_string()).filter(|count| count != "1"));
    add("detail", entry.detail.clone());
    let earlier = entry
        .replaced
        .as_ref()
        .map(|one| format!("{:?}", (&one.source, &one.request_id, one.timestamp - NOW.0)));
    add("earlier", earlier);
    line
}

fn archived() -> Act {
    let before = UnixMs(0);
    let (orders, devices, returned_orders, returned_devices) = (3, 2, 4, 1);
    Archived { before, orders, devices, returned_orders, returned_devices }.into()
}

/// Every change of a session and every command is recorded in its own transaction.
#[tokio::test]
async fn the_audit_trail_lists_a_history_newest_first() {
    let fixture = TestStore::with_fleet().await;
    let sessions = fixture.store.sessions();
    let (here, there) = ("192.0.2.1", "2001:db8::7");
    log_in(&fixture, origin(here, at(1)), 100).await;
    let second = log_in(&fixture, origin(there, at(2)), 100).await;
    let group = GroupId::parse("b").ok();
    let claim = |token: &PresentedToken, ms| Claim { token: token.clone(), now: at(ms) };
    let second = claim(&second, 3);
    let switch = sessions.switch_group(second, group, [8; 32], at(103), origin(here, at(3)));
    let third = PresentedToken::read(switch.await.unwrap().token.reveal().as_bytes()).unwrap();
    sessions.log_out(claim(&third, 4), origin(there, at(4))).await.unwrap();
    // A refused change is not recorded, and an expired session is not replaced.
    assert!(sessions.log_out(claim(&third, 5), origin(there, at(5))).await.is_err());
    log_in(&fixture, origin(here, at(6)), 2).await;
    log_in(&fixture, origin(here, at(8)), 100).await;
    let off = AccountEntry { third_party_api: Some(false), ..bare_account("ops") };
    let fleet = Fleet { accounts: vec![off], ..Fleet::default() };
    let by = ActedBy::key(KeyName::parse("ci").unwrap(), origin(there, at(9)));
    fixture.store.fleet().apply(fleet, NewHashes::new(), by, &clock_at(at(9))).await.unwrap();
    fixture.store.trail().record_act(archived(), ActedBy::server(at(10))).await.unwrap();

    let listed: Vec<String> = list(&fixture, ask()).await.iter().map(line).collect();
    insta::assert_snapshot!(listed.join("\n"));
}

/// Refused logins as the server records them: of an account, or of none.
async fn fill(fixture: &TestStore, count: i64) {
    let happened = (0..count).map(|number| {
        let account = ["ops", "other"].get(usize::try_from(number % 3).unwrap());
        let account = account.map(|name| (*name).to_owned());
        let origin = origin("192.0.2.1", at(number * HOUR_MS));
        AuditRecord {
            count: number + 1,
            ..AuditRecord::to_account(AuditEvent::LoginRefused, account, &origin)
        }
    });
    let events = PendingEvents::new(happened.collect());
    fixture.store.trail().record_events(&events).await.unwrap();
}

/// Newest first, with the filters `account`, `sinceTimestamp` and `limit`: pages of any size
/// contain each entry once, also while others are added.
#[tokio::test]
async fn pages_of_any_size_are_the_whole_trail() {
    let fixture = TestStore::new().await;
    fill(&fixture, 40).await;
    let all = list(&fixture, ask()).await;
    assert_eq!(all.len(), 40);
    for account in [None, Some("ops"), Some("other"), Some("absent"), Some("\0"), Some("ops\0")] {
        for since in [
            None,
            Some(-1),
            Some(0),
            Some(25 * HOUR_MS),
            Some(25 * HOUR_MS + 1),
            Some(39 * HOUR_MS),
            Some(40 * HOUR_MS),
        ] {
            let since = since.map(at);
            let matches = |entry: &&AuditEntry| {
                (account.is_none() || entry.account.as_deref() == account)
                    && since.is_none_or(|since| UnixMs(entry.timestamp) >= since)
            };
            let want: Vec<AuditEntry> = all.iter().filter(matches).cloned().collect();
            for limit in [1, 2, 7, 13, 40, 41] {
                let account = account.map(str::to_owned);
                let mut ask = AuditQuery { account, since, ..AuditQuery::latest(limit) };
                let mut got = Vec::new();
                loop {
                    let page = fixture.store.trail().entries(ask.clone()).await.unwrap();
                    assert!(page.entries.len() <= limit);
                    assert!(page.next.is_none() || page.entries.len() == limit);
                    got.extend(page.entries);
                    assert!(got.len() <= want.len(), "{ask:?}: there is no end to it");
                    let Some(next) = page.next else { break };
                    ask.before = Some(next);
                }
                assert_eq!(got, want, "{ask:?}");
            }
        }
    }
    let first = fixture.store.trail().entries(AuditQuery { limit: 15, ..ask() }).await.unwrap();
    fill(&fixture, 3).await;
    let second = AuditQuery { before: first.next, ..ask() };
    let second = list(&fixture, second).await;
    assert_eq!([first.entries, second].concat(), all);
}

/// A part of a filtered list searches at most 100,000 entries, and the next one continues after
/// them.
#[tokio::test]
async fn a_rare_entry_is_found_by_a_later_part() {
    let fixture = TestStore::new().await;
    fill(&fixture, 1).await;
    fixture.tamper(
        "insert into audit (entry_no, at_ms, event, account, count)
        with recursive numbers (number) as (
            select 2 union all select number + 1 from numbers where number < 100001
        ) select number, 0, 'login', 'ops', 1 from numbers",
    );
    let [by_event, by_source] = [
        AuditQuery { event: Some(AuditEvent::LoginRefused), ..ask() },
        AuditQuery { source: "192.0.2.1".parse().ok(), ..ask() },
    ];
    let [of_account, of_another] = ["ops", "other"]
        .map(|name| AuditQuery { account: Some(name.to_owned()), ..by_event.clone() });
    for (mut ask, want) in [
        (by_event, &[(vec![], Some(2)), (vec![1], None)][..]),
        (by_source, &[(vec![], Some(2)), (vec![1], None)]),
        (of_account, &[(vec![], Some(2)), (vec![1], None)]),
        (of_another, &[(vec![], None)]),
    ] {
        let mut parts = Vec::new();
        loop {
            let part = fixture.store.trail().entries(ask.clone()).await.unwrap();
            let numbers: Vec<i64> = part.entries.iter().map(|entry| entry.entry_no).collect();
            ask.before = part.next;
            parts.push((numbers, part.next));
            if part.next.is_none() {
                break;
            }
        }
        assert_eq!(parts, want, "{ask:?}");
    }
}

/// An entry is found by its time, not by its number: one that is written late, and those before and
/// after one with too early a time.
#[tokio::test]
async fn entries_are_found_by_their_times_in_any_order() {
    for (times, since, found) in [
        (&[0, 5 * HOUR_MS, 5 * HOUR_MS - 60_000, 5 * HOUR_MS + 1][..], 5 * HOUR_MS, &[4, 2][..]),
        (&[0, 9, 10, 3, 11].map(|hour| hour * HOUR_MS), 8 * HOUR_MS, &[5, 3, 2]),
    ] {
        let fixture = TestStore::new().await;
        for ms in times {
            let origin = origin("192.0.2.1", at(*ms));
            let one = AuditRecord::to_account(AuditEvent::LoginRefused, None, &origin);
            fixture.store.trail().record_events(&PendingEvents::new(vec![one])).await.unwrap();
        }
        let listed = list(&fixture, AuditQuery { since: Some(at(since)), ..ask() }).await;
        assert_eq!(listed.iter().map(|one| one.entry_no).collect::<Vec<_>>(), found);
    }
}

/// Old entries are deleted in short transactions; the trail is otherwise never changed, and a
/// number is used once.
#[tokio::test]
async fn what_is_older_than_its_retention_is_purged_from_the_old_end() {
    let fixture = TestStore::new().await;
    fill(&fixture, 1_203).await;
    let all = list(&fixture, AuditQuery { limit: 2_000, ..ask() }).await;
    assert_eq!(fixture.store.trail().purge(at(0)).await.unwrap(), 0);
    assert_eq!(fixture.store.trail().purge(at(1_100 * HOUR_MS)).await.unwrap(), 1_100);
    assert_eq!(list(&fixture, ask()).await, all[..103]);
    assert_eq!(fixture.store.trail().purge(at(1_100 * HOUR_MS)).await.unwrap(), 0);
    assert_eq!(fixture.store.trail().purge(at(9_999 * HOUR_MS)).await.unwrap(), 103);
    assert_eq!(list(&fixture, ask()).await, []);
    fill(&fixture, 1).await;
    assert_eq!(list(&fixture, ask()).await[0].entry_no, 1_204);
}

/// Events whose commit had no clear outcome are recorded again only if it failed.
#[tokio::test]
async fn events_with_an_unknown_outcome_are_recorded_once() {
    let fixture = TestStore::with_fleet_on(TestData::postgres()).await;
    let refused = |id: &str| AuditRecord {
        request_id: Some(id.to_owned()),
        ..AuditRecord::by_operator(AuditEvent::LoginRefused, &ActedBy::command(NOW))
    };
    let recorded = async |fixture: &TestStore| {
        let entries = list(fixture, ask()).await;
        let ids = entries.into_iter().filter_map(|entry| entry.request_id);
        ids.collect::<Vec<_>>()
    };
    let events = PendingEvents::new(vec![refused("one"), refused("two")]);
    fixture.data.execute(&sql("warn_at_commit").replace("THE_TABLE", "audit"));
    for _ in 0..2 {
        let outcome = fixture.store.trail().record_events(&events).await;
        assert!(matches!(outcome, Err(Error::Unknown(_)) | Ok(())), "{outcome:?}");
        assert_eq!(recorded(&fixture).await, ["two", "one"]);
    }
    // Another entry has the number that a lost attempt had.
    let lost = PendingEvents::new(vec![refused("three")]);
    assert!(fixture.store.trail().record_events(&lost).await.is_err());
    fixture.data.execute("drop trigger warn_at_commit on audit");
    fixture.tamper("update audit set request_id = 'other' where request_id = 'three'");
    fixture.store.trail().record_events(&lost).await.unwrap();
    assert_eq!(recorded(&fixture).await, ["three", "other", "two", "one"]);
}

/// The text of each act is rendered from its details when it is read, and stored with none.
#[tokio::test]
async fn acts_are_read_as_text_and_as_fields() {
    let fixture = TestStore::with_fleet().await;
    let none = AuditDetails::default;
    let of_key = || AuditDetails { key_name: Some("tills".to_owned()), ..none() };
    let rights = vec!["orders".to_owned(), "read".to_owned()];
    let interrupted = |orders| Act::import_interrupted(9, Interruption::Signal, orders);
    let forward = Archived {
        before: UnixMs(86_400_000),
        orders: 3,
        devices: 2,
        returned_orders: 0,
        returned_devices: 0,
    };
    let imported = AuditDetails {
        accepted: Some(1),
        updated: Some(2),
        unchanged: Some(3),
        rejected: Some(4),
        ..none()
    };
    let deleted = AuditDetails { device_code: Some("d1".to_owned()), ..none() };
    let rates = AuditDetails { rates: Some(5), ..none() };
    let login = Act { reason: Some("link"), ..Act::new(AuditEvent::ConsoleLogin, none()) };
    let created = AuditDetails { rights, ..of_key() };
    let acts = [
        Act::new(AuditEvent::KeyCreated, created),
        Act::new(AuditEvent::KeyRevoked, of_key()),
        forward.into(),
        archived(),
        Act::new(AuditEvent::DeviceDeleted, deleted),
        Act::new(AuditEvent::OrdersImported, imported),
        Act::new(AuditEvent::RatesImported, rates),
        interrupted(Some(7)),
        interrupted(None),
        Act::new(AuditEvent::ConsoleLinkCreated, of_key()),
        login,
        Act::new(AuditEvent::ConsoleLogout, none()),
    ];
    let mut texts = String::new();
    for act in acts {
        fixture.store.trail().record_act(act.clone(), ActedBy::command(NOW)).await.unwrap();
        let entry = list(&fixture, AuditQuery::latest(1)).await.remove(0);
        assert_eq!(entry.event, act.event.name());
        texts += &format!("{}: {}\n", entry.event, entry.detail.as_deref().unwrap_or("none"));
        let details = Some(&act.details).filter(|details| **details != none());
        assert_eq!(entry.details.as_ref(), details, "{act:?}");
    }
    insta::assert_snapshot!(texts);
    let twice = "select count(*) from audit where reason is not null and details is not null";
    assert_eq!(fixture.query(twice), ["0"]);
}
