//! Lists of the orders of a span equal a filter over all orders of the device.

use kiosque_model::{Claim, DeviceCode, PageRequest, PresentedToken, UnixMs};
use kiosque_store::{History, Incoming, OrderQuery, Returning, Span};
use kiosque_testkit::entries::{order, title};
use kiosque_testkit::{NOW, Rng, TestStore, seed};

/// The orders of a device, as a list has them.
struct Device {
    /// In the order of their arrival: the number of each and the start of its trade.
    orders: Vec<(String, i64)>,
    /// How many of them are archived.
    archived: usize,
    /// The last time that moved the boundary of the archive, or was earlier than the one before.
    archived_before: i64,
}

impl Device {
    /// Archives the orders before a time: ORD-5, ORD-22.
    fn archive(&mut self, before: i64) {
        let from = if before < self.archived_before { 0 } else { self.archived };
        let old = self.orders.iter().skip(from).take_while(|(_, start)| *start < before);
        let archived = from + old.count();
        if archived != self.archived || before < self.archived_before {
            self.archived_before = before;
        }
        self.archived = archived;
    }

    fn in_span(&self, history: History, span: Span) -> Vec<String> {
        let archived = if history == History::Included { 0 } else { self.archived };
        let orders = self.orders.iter().skip(archived).rev();
        let matching = orders.filter(|(_, at)| span.start.0 <= *at && *at < span.end.0);
        matching.map(|(id, _)| id.clone()).collect()
    }
}

async fn page(
    fixture: &TestStore,
    session: &PresentedToken,
    history: History,
    (span, current, size): (Span, i64, i64),
) -> (i64, Vec<String>) {
    let page = PageRequest::new(current, size).unwrap();
    let device = DeviceCode::parse("d1").ok();
    let query = OrderQuery { device, history, span: Some(span), page };
    let claim = Claim { token: session.clone(), now: NOW };
    let page = fixture.store.orders().page(claim, query).await.unwrap();
    let titles = page.newest_first().map(|json| title(&serde_json::from_slice(json).unwrap()));
    (page.total, titles.collect())
}

fn random_span(rng: &mut Rng, last: i64) -> Span {
    let (one, other) = (rng.range(-5..last + 50), rng.range(-5..last + 50));
    let (start, end) = match rng.below(4) {
        0 => (last - rng.range(0..40), i64::MAX),
        1 => (i64::MIN, one),
        _ => (one.min(other), one.max(other)),
    };
    Span { start: UnixMs(start), end: UnixMs(end) }
}

async fn receive(fixture: &TestStore, orders: Vec<Incoming>) {
    let count = orders.len();
    assert_eq!(fixture.receive(orders).await.len(), count);
}

/// Orders arrive early and late, are changed, are archived, and become current again.
#[tokio::test]
async fn pages_of_a_span_equal_a_filter() {
    let seed = seed();
    let mut rng = Rng::seeded(seed);
    let fixture = TestStore::with_fleet().await;
    let session = fixture.log_in("ops").await.unwrap();
    let mut device = Device { orders: Vec::new(), archived: 0, archived_before: 0 };
    let mut last = 0;
    for step in 0..12 {
        let mut batch = Vec::new();
        for _ in 0..rng.below(90) {
            last += rng.range(0..3);
            let at = if rng.one_in(20) { rng.range(0..last + 1) } else { last };
            let id = format!("o{}", device.orders.len());
            batch.push(order(&id, "d1", at));
            device.orders.push((id, at));
        }
        receive(&fixture, batch).await;
        let mut changed = Vec::new();
        for _ in 0..rng.below(4).min(device.orders.len()) {
            let index = rng.below(device.orders.len());
            let at = rng.range(0..last + 30);
            let (id, start) = &mut device.orders[index];
            *start = at;
            changed.push(order(id, "d1", at));
        }
        receive(&fixture, changed).await;
        if rng.one_in(2) {
            let before = rng.range(0..last + 1);
            let upkeep = fixture.store.upkeep();
            upkeep.archive_exactly(UnixMs(before), NOW, Returning::Allowed).await.unwrap();
            device.archive(before);
        }
        for _ in 0..20 {
            let (span, size) = (random_span(&mut rng, last), rng.choose(&[1, 10, 100]));
            for history in [History::Left, History::Included] {
                let expected = device.in_span(history, span);
                let total = i64::try_from(expected.len()).unwrap();
                let pages = total / size + 1;
                for current in [1, rng.range(1..pages + 2), pages] {
                    let context = format!("{span:?} {history:?} {current} {size} seed {seed}");
                    let skip = usize::try_from((current - 1) * size).unwrap();
                    let expected = expected.iter().skip(skip);
                    let expected: Vec<_> =
                        expected.take(usize::try_from(size).unwrap()).cloned().collect();
                    let found = page(&fixture, &session, history, (span, current, size)).await;
                    assert_eq!(found, (total, expected), "{context}");
                }
            }
        }
        let differences = fixture.differences().await;
        assert_eq!(differences, [""; 0], "step {step}, seed {seed}");
    }
}

/// Blocks that are wrong are reported.
#[tokio::test]
async fn wrong_blocks_are_named() {
    for (planted, difference) in [
        (
            "update order_blocks set last_ms = 100 where block = 1",
            "group a, device d1: 27 orders started outside of the bounds of their blocks",
        ),
        (
            "delete from order_blocks where block = 1",
            "group a, device d1: orders up to 128 of 130 are in blocks, there are 1 blocks of 64",
        ),
        (
            "update ledger set blocked_seq = 192 where device_code = 'd1'",
            "group a, device d1: orders up to 192 of 130 are in blocks, there are 2 blocks of 64",
        ),
    ] {
        let fixture = TestStore::with_fleet().await;
        let orders = (0..130).map(|at| order(&format!("o{at}"), "d1", at));
        fixture.receive_new(orders.collect()).await;
        fixture.check().await;
        fixture.tamper(planted);
        let differences = fixture.differences().await;
        assert_eq!(differences, [difference], "{planted}");
    }
}
