//! The dictionary of the data: trained from its own orders, kept by number, and known wherever a
//! record names it.

use std::iter::repeat_with;
use std::ops::{ControlFlow, Range};

use kiosque_contract::OrderRecord;
use kiosque_model::order::{Order, PayStatus};
use kiosque_model::{Claim, DeviceCode, GroupNo, Minor, OrderId, PageRequest, UnixMs};
use kiosque_store::{
    ChangeQuery, Changes, DashboardQuery, DeviceOrders, Error, GroupTotals, History, Incoming,
    Listing, NumberedOrders, OnlineSince, OpenOptions, OrderFilter, OrderOutcome, OrderQuery,
    OrdersOf, Refused, Store, TradeNumbers,
};
use kiosque_testkit::entries::{bare_order, group_id, line, rendered};
use kiosque_testkit::{NOW, TestData, TestStore, open, open_options};

/// The changes of orders after which a dictionary is trained.
const TRAINED_AFTER: usize = 4_000;
/// The orders that [`trained`] stores after the training.
const LATER: Range<usize> = TRAINED_AFTER..TRAINED_AFTER + 20;

fn paid(at: usize) -> Order {
    let goods = ["Coffee, large", "Green tea", "Salted almonds 40 g", "Sparkling water"];
    let (start, price) = (i64::try_from(at).unwrap() * 10, Minor(100));
    let lines = [at % goods.len(), at / 7 % goods.len()]
        .map(|product| line(&format!("g{product}-{}", at % 31), Some(goods[product]), 1, price));
    Order {
        card_number: Some(format!("{:06}******1234", 400_000 + at)),
        phone: Some(format!("{}****5678", 100 + at % 900)),
        pay_status: PayStatus::Paid,
        pay_amount: Minor(200),
        pay_end: Some(UnixMs(start + 5)),
        lines: lines.into(),
        ..bare_order(&format!("o{at}"), "d1", start)
    }
}

fn orders(numbers: Range<usize>) -> Vec<Incoming> {
    numbers.map(|at| rendered(paid(at))).collect()
}

fn list_record(order: &Incoming) -> OrderRecord {
    let mut json = Vec::new();
    order.put_list_record(&mut json);
    serde_json::from_slice(&json).unwrap()
}

/// Returns data that lacks one order for the training.
async fn nearly_trained() -> TestStore {
    let fixture = TestStore::with_fleet().await;
    fixture.receive_new(orders(0..TRAINED_AFTER - 1)).await;
    assert_eq!(numbers(&fixture), [""; 0]);
    fixture
}

/// Trains the dictionary of data that lacks one order, and stores those that name it.
async fn train(fixture: &TestStore) {
    fixture.receive_new(orders(TRAINED_AFTER - 1..TRAINED_AFTER)).await;
    fixture.receive_new(orders(LATER)).await;
}

async fn trained() -> TestStore {
    let fixture = nearly_trained().await;
    train(&fixture).await;
    fixture
}

fn numbers(fixture: &TestStore) -> Vec<String> {
    fixture.query("select dictionary_no from dictionaries")
}

/// Returns the ids of the orders whose record refers to the dictionary.
fn naming_it(fixture: &TestStore) -> Vec<String> {
    let number: u32 = numbers(fixture).concat().parse().unwrap();
    // After a checksum of four bytes and a description of one.
    let number = fixture.bytes_literal(&number.to_le_bytes());
    fixture.query(&format!(
        "select order_id from orders where substr(record, 6, 4) = {number} order by seq"
    ))
}

fn content(fixture: &TestStore) -> Vec<u8> {
    let hex = match fixture.data {
        TestData::Directory(_) => "select hex(content) from dictionaries",
        TestData::Postgres(_) => "select encode(content, 'hex') from dictionaries",
    };
    let digits = fixture.query(hex).concat();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn has(text: &[u8], wanted: &str) -> bool {
    text.windows(wanted.len()).any(|part| part == wanted.as_bytes())
}

/// The first thousands of orders train the dictionary, once; later records name it. It has texts of
/// the orders, and neither card nor phone numbers.
#[tokio::test]
async fn the_first_thousands_of_orders_train_a_dictionary() {
    let fixture = trained().await;
    let later: Vec<String> = LATER.map(|at| format!("o{at}")).collect();
    assert_eq!(naming_it(&fixture), later);
    let content = content(&fixture);
    assert!(has(&content, "Salted almonds 40 g"));
    assert!(!has(&content, "******") && !has(&content, "****5678"));

    let first = numbers(&fixture);
    let again = fixture.again().await;
    again.receive_new(orders(LATER.end..2 * TRAINED_AFTER)).await;
    assert_eq!(numbers(&again), first);
    assert_eq!(naming_it(&again).len(), 2 * TRAINED_AFTER - LATER.start);
    assert_eq!(again.store.upkeep().verify().await.unwrap().differences, [""; 0]);
}

async fn all_changes(store: &Store) -> Vec<OrderRecord> {
    let query = ChangeQuery { after: None, size: 100_000 };
    let changes = store.orders().changes_of_group(group_id("a"), query).await.unwrap().unwrap();
    changes.iter().map(|(_, json)| serde_json::from_slice(json).unwrap()).collect()
}

/// A process that had the data open before another one trained its dictionary reads each order as
/// it was sent, whichever read meets the dictionary first.
#[tokio::test]
async fn a_process_that_was_open_before_reads_the_new_records() {
    let fixture = nearly_trained().await;
    let mut others = Vec::new();
    for _ in 0..11 {
        others.push(open(&fixture.data, None).await.unwrap());
    }
    train(&fixture).await;
    let mut other = || others.pop().unwrap();
    let session = fixture.log_in("ops").await.unwrap();
    let claim = || Claim { token: session.clone(), now: NOW };
    let last = LATER.end - 1;
    let expected: Vec<OrderRecord> =
        orders(LATER.start - 5..LATER.end).iter().map(list_record).collect();
    let newest_first: Vec<OrderRecord> = expected.iter().rev().cloned().collect();
    let of_last = newest_first[..1].to_vec();
    let parsed = |json: &[u8]| serde_json::from_slice::<OrderRecord>(json).unwrap();

    let page = PageRequest::new(1, 25).unwrap();
    let device = DeviceCode::parse("d1").ok();
    let query = OrderQuery { device, history: History::Left, span: None, page };
    let page = other().orders().page(claim(), query).await.unwrap();
    assert_eq!(page.newest_first().map(parsed).collect::<Vec<_>>(), newest_first);
    let numbers = TradeNumbers { out: None, inner: Some(format!("oid:o{last}")) };
    let detail = other().orders().detail(claim(), numbers).await.unwrap();
    assert!(has(&detail, &format!(r#""orderId":"o{last}""#)) && has(&detail, "Sparkling water"));
    let query = ChangeQuery { after: None, size: 100_000 };
    let changes = other().orders().changes(claim(), query, GroupTotals::Left).await.unwrap();
    let changes: Vec<OrderRecord> = changes.iter().map(|(_, json)| parsed(json)).collect();
    let all: Vec<OrderRecord> = orders(0..LATER.end).iter().map(list_record).collect();
    assert!(changes == all);
    assert!(all_changes(&other()).await == all);

    let listing = Listing { after: None, limit: 100_000 };
    let listed = other().inventory().orders(OrdersOf::default(), listing).await.unwrap();
    let listed: Vec<OrderRecord> =
        listed.entries.into_iter().map(|order| order.unwrap().item.record).collect();
    assert!(listed == all);
    let number = format!("o{last}");
    let by = NumberedOrders { number, limit: 9, ..NumberedOrders::default() };
    let found = other().inventory().orders_by_number(by).await.unwrap().unwrap().orders;
    assert_eq!(found.into_iter().map(|item| item.record).collect::<Vec<_>>(), of_last);
    let listing = Listing { after: None, limit: 25 };
    let filter = OrderFilter::default();
    let newest = other().inventory().orders_newest_first(None, filter, listing).await.unwrap();
    let newest = newest.entries.into_iter().map(|item| item.record);
    assert_eq!(newest.collect::<Vec<_>>(), newest_first);
    let (device, limit) = (DeviceCode::parse("d1").unwrap(), 25);
    let (group, filter, card_end, after) = (None, OrderFilter::default(), None, None);
    let of = DeviceOrders { device, group, filter, card_end, after, limit, read_max: 25 };
    let latest = other().inventory().latest_orders(of).await.unwrap().unwrap().orders;
    assert_eq!(latest.into_iter().map(|item| item.record).collect::<Vec<_>>(), newest_first);
    let ids = vec![(GroupNo(1), OrderId::parse(format!("o{last}")).unwrap())];
    assert_eq!(other().inventory().orders_by_id(ids).await.unwrap(), of_last);

    // The sales of a day that the range cuts are recounted from their orders.
    let start = UnixMs(i64::try_from(LATER.start).unwrap() * 10);
    let query = DashboardQuery { group: None, devices: Vec::new(), start, end: NOW };
    let summary = other().reports().summary(claim(), OnlineSince(NOW), query).await.unwrap();
    assert_eq!(summary.turnover.orders, 20);

    let changed = rendered(Order { refund_amount: Minor(1), ..paid(last) });
    let writer = TestStore { store: other(), data: fixture.data.clone() };
    assert_eq!(writer.receive(vec![changed]).await, [OrderOutcome::Updated]);
    assert_eq!(naming_it(&fixture).len(), LATER.len());
}

/// Returns the differences that name a dictionary. The sums of the orders that cannot be read
/// differ as well.
async fn named(fixture: &TestStore) -> Vec<String> {
    let mut differences = fixture.differences().await;
    differences.retain(|it| it.contains("dictionary"));
    differences
}

/// `verify` names a dictionary whose content is another, and each order that needs one that is
/// missing or damaged. Other orders are read, by a process that did not know it before.
#[tokio::test]
async fn a_dictionary_that_is_missing_or_damaged_is_named() {
    let fixture = trained().await;
    let number = numbers(&fixture).concat();
    let needing = |at| {
        format!(
            "group a, device d1, order o{at}: its record needs dictionary {number}, which is \
             missing or damaged"
        )
    };
    let needing: Vec<String> = LATER.map(needing).collect();
    let mut changed = content(&fixture);
    *changed.last_mut().unwrap() ^= 1;
    let changed = fixture.bytes_literal(&changed);
    fixture.tamper(&format!("update dictionaries set content = {changed}"));
    let mut differences =
        vec![format!("dictionary {number}: its content does not match its checksum")];
    differences.extend(needing.clone());
    assert_eq!(named(&fixture).await, differences);

    fixture.tamper("delete from dictionaries");
    assert_eq!(named(&fixture).await, needing);
    let again = open(&fixture.data, None).await.unwrap();
    let token = fixture.log_in("ops").await.unwrap();
    let detail = async |at: usize| {
        let numbers = TradeNumbers { out: None, inner: Some(format!("oid:o{at}")) };
        again.orders().detail(Claim { token: token.clone(), now: NOW }, numbers).await
    };
    assert!(detail(LATER.start - 1).await.is_ok());
    let refused = detail(LATER.start).await;
    assert!(
        matches!(&refused, Err(Refused::Store(Error::UnreadableOrder(order)))
            if order.to_string().contains(&format!("its record needs dictionary {number}"))),
        "{refused:?}"
    );
}

/// Data that has two dictionaries, since two processes trained one at the same time, is read.
#[tokio::test]
async fn two_dictionaries_are_both_read() {
    let fixture = trained().await;
    let first: u32 = numbers(&fixture).concat().parse().unwrap();
    let other = TestStore::with_fleet().await;
    let texts = (0..TRAINED_AFTER).map(|at| {
        let name = repeat_with(|| format!("{at} ")).take(at % 9).collect::<String>();
        let lines = vec![line("x", Some(&name), 1, Minor(5))];
        rendered(Order { lines, ..bare_order(&format!("x{at}"), "d2", 10) })
    });
    other.receive_new(texts.collect()).await;
    let second: u32 = numbers(&other).concat().parse().unwrap();
    assert_ne!(first, second);
    let content = fixture.bytes_literal(&content(&other));
    fixture.tamper(&format!("insert into dictionaries values ({second}, {content})"));
    let again = fixture.again().await;
    again.receive_new(orders(LATER.end..LATER.end + 5)).await;
    let all: Vec<OrderRecord> = orders(0..LATER.end + 5).iter().map(list_record).collect();
    assert!(all_changes(&fixture.store).await == all);
    fixture.check().await;
}

/// A dry run trains nothing.
#[tokio::test]
async fn a_dry_run_leaves_no_dictionary_behind() {
    let fixture = nearly_trained().await;
    let before = fixture.rows();
    let options = OpenOptions { changes: Changes::RolledBack, ..open_options(&fixture.data) };
    let dry_run = Store::open(&options).await.unwrap();
    let dry_run = TestStore { store: dry_run, data: fixture.data.clone() };
    train(&dry_run).await;
    drop(dry_run);
    assert_eq!(fixture.rows(), before);
    train(&fixture).await;
    assert_eq!(numbers(&fixture).len(), 1);
}

/// A backup and a move have the dictionary.
#[tokio::test]
async fn backups_and_moves_keep_the_dictionary() {
    let fixture = TestStore::with_fleet_on(TestData::sqlite()).await;
    fixture.receive_new(orders(0..TRAINED_AFTER)).await;
    fixture.receive_new(orders(LATER)).await;
    let all: Vec<OrderRecord> = orders(0..LATER.end).iter().map(list_record).collect();
    let copy = TestData::sqlite();
    let file = copy.files().join("kiosque.db");
    fixture.store.upkeep().backup(file, |_| ControlFlow::Continue(())).await.unwrap();
    let copied = open(&copy, None).await.unwrap();
    assert!(all_changes(&copied).await == all);
    let target = TestData::without_tables();
    let to = Store::open_unsettled(&open_options(&target)).await.unwrap();
    fixture.store.upkeep().move_to(to.upkeep(), NOW, |_| {}).await.unwrap();
    let moved = open(&target, None).await.unwrap();
    assert!(all_changes(&moved).await == all);
}
