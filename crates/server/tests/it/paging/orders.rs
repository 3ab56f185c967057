//! Pages of orders while orders arrive and are archived.

use kiosque_model::{UnixMs, Zone};
use kiosque_testkit::{ORDERS_PATH, OrderLine, Rng, START_MS, TestServer, seed, size};
use serde_json::{Value, json};

use super::{PageReader, server};

const DAY_MS: i64 = 86_400_000;

/// The orders of a device as they must be listed.
struct Kiosk {
    code: String,
    /// In the order of their sequence numbers, with the start of their trades.
    orders: Vec<(String, i64)>,
    /// The number of archived ones.
    archived: usize,
}

impl Kiosk {
    async fn new(server: &TestServer, code: String) -> Kiosk {
        let fleet = format!("[[device]]\ncode = \"{code}\"\nname = \"K\"\ngroup = \"g\"\n");
        server.apply(&fleet).await.unwrap();
        Kiosk { code, orders: Vec::new(), archived: 0 }
    }

    /// Returns the lines of new orders whose trades started this many seconds before the server's
    /// start.
    fn lines_of(&mut self, ago_seconds: &[i64]) -> String {
        let mut arriving = Vec::new();
        for (number, ago) in (self.orders.len()..).zip(ago_seconds) {
            arriving.push((format!("{}-{number}", self.code), START_MS - ago * 1_000));
        }
        let lines = arriving.iter().map(|(id, start)| line(&self.code, id, *start)).collect();
        // ORD-3: an import numbers the new orders of a device by the start of their trades, and
        // orders with the same start by line.
        arriving.sort_by_key(|(_, start)| *start);
        self.orders.append(&mut arriving);
        lines
    }

    async fn receive(&mut self, server: &TestServer, ago_seconds: &[i64]) {
        server.import_valid(self.lines_of(ago_seconds)).await;
    }

    /// ORD-5: the archive boundary advances to the first order that is recent enough; late arrivals
    /// behind that order stay current.
    fn archive(&mut self, before: i64) {
        let older = |order: &&(String, i64)| order.1 < before;
        self.archived += self.orders[self.archived..].iter().take_while(older).count();
    }

    fn listed(&self, history: bool) -> Vec<&str> {
        let from = if history { 0 } else { self.archived };
        self.orders[from..].iter().map(|(id, _)| id.as_str()).rev().collect()
    }

    fn body(&self, history: bool) -> Value {
        json!({"deviceCode": self.code, "includeHistory": history})
    }
}

fn line(code: &str, id: &str, start: i64) -> String {
    OrderLine::new(id, code, Zone::utc().text(UnixMs(start))).to_string()
}

fn some_starts(rng: &mut Rng, most: usize) -> Vec<i64> {
    (0..rng.below(most + 1)).map(|_| rng.range(0..5 * DAY_MS / 1_000)).collect()
}

#[tokio::test]
async fn concatenated_pages_are_all_orders_once_with_and_without_history() {
    let (seed, kiosks) = (seed(), size(25, 400));
    println!("{kiosks} kiosks from seed {seed}");
    let mut rng = Rng::seeded(seed);
    let server = server().await;
    let mut reader = PageReader::new(&server, ORDERS_PATH, "orderId").await;
    for number in 0..kiosks {
        let mut kiosk = Kiosk::new(&server, format!("K{number}")).await;
        for _ in 0..4 {
            kiosk.receive(&server, &some_starts(&mut rng, 25)).await;
            if rng.one_in(2) {
                let before = START_MS - rng.range(0..5 * DAY_MS);
                server.store.upkeep().archive(UnixMs(before), server.now()).await.unwrap();
                kiosk.archive(before);
            }
            let size = 1 + rng.below(30);
            for history in [true, false] {
                let body = kiosk.body(history);
                let listed = kiosk.listed(history);
                assert_eq!(reader.read(&body, size).await, listed, "{body}, size {size}");
            }
        }
        let all = kiosk.orders.len();
        reader.check_past_the_end(&kiosk.body(true), all).await;
        reader.check_past_the_end(&kiosk.body(false), all - kiosk.archived).await;
    }
}

/// PAGE-8: orders that arrive move older ones to later pages. A client receives some of them again,
/// and misses none that was there when it began.
#[tokio::test]
async fn a_walk_misses_nothing_that_was_there_when_it_began_while_orders_arrive() {
    let (seed, walks) = (seed(), size(25, 400));
    println!("{walks} walks from seed {seed}");
    let mut rng = Rng::seeded(seed);
    let server = server().await;
    let mut reader = PageReader::new(&server, ORDERS_PATH, "orderId").await;
    let mut seen_again = 0;
    for number in 0..walks {
        let mut kiosk = Kiosk::new(&server, format!("K{number}")).await;
        kiosk.receive(&server, &some_starts(&mut rng, 60)).await;
        let there = kiosk.orders.clone();
        let mut body = kiosk.body(true);
        if rng.one_in(3) {
            body["startTimestamp"] = json!(0);
        }
        let (size, mut seen, mut current) = (2 + rng.below(9), Vec::new(), 1);
        loop {
            let page = reader.page(&body, &current.to_string(), &size.to_string()).await;
            assert_eq!(page.total, i64::try_from(kiosk.orders.len()).unwrap());
            if page.rows.is_empty() {
                break;
            }
            seen.extend(page.rows);
            current += 1;
            // Fewer than a page, or the traversal would never end. Some started long ago.
            kiosk.receive(&server, &some_starts(&mut rng, size - 1)).await;
            if rng.one_in(4) {
                let before = START_MS - rng.range(0..5 * DAY_MS);
                server.store.upkeep().archive(UnixMs(before), server.now()).await.unwrap();
            }
        }
        for (id, _) in &there {
            assert!(seen.contains(id), "{id} was missed; seen {seen:?}");
        }
        let times = seen.len();
        seen.sort_unstable();
        seen.dedup();
        seen_again += times - seen.len();
    }
    println!("{seen_again} rows were seen again");
    assert!(seen_again > 0, "nothing arrived during a walk");
}

/// ORD-3: orders imported together are numbered by the start of their trades. An `orderId`
/// identifies an order in its group: the same one in another group, or twice in one file, moves no
/// other order.
#[tokio::test]
async fn an_import_numbers_each_device_by_trade_start_whatever_else_is_in_the_file() {
    let server = server().await;
    for (code, group) in [("A", "g"), ("B", "other"), ("C", "g")] {
        let fleet = format!("[[device]]\ncode = \"{code}\"\nname = \"K\"\ngroup = \"{group}\"\n");
        server.apply(&fleet).await.unwrap();
    }
    let ids = ["o0", "o1", "o2", "o3", "o4"];
    let mut file = String::new();
    for (id, minutes) in ids.iter().zip([3, 1, 4, 0, 2]) {
        file += &line("B", id, START_MS - 3_600_000 + minutes * 60_000);
    }
    for (id, minutes) in ids.iter().zip([1, 4, 0, 3, 2]) {
        file += &line("A", id, START_MS - 7_200_000 + minutes * 60_000);
    }
    // The same order with another start: an update, which keeps its place.
    file += &line("B", "o3", START_MS);
    server.import_valid(file).await;
    let account = "[[account]]\nlogin_name = \"ops\"\ngroups = [\"other\"]\n";
    for (code, newest_first) in
        [("A", ["o1", "o3", "o4", "o0", "o2"]), ("B", ["o2", "o0", "o4", "o1", "o3"])]
    {
        let mut reader = PageReader::new(&server, ORDERS_PATH, "orderId").await;
        assert_eq!(reader.read(&json!({"deviceCode": code}), 2).await, newest_first, "{code}");
        server.apply(account).await.unwrap();
    }
}

/// ORD-3: an order whose internal trade number a later line claims is numbered by the start of its
/// trade. ORD-5: as the oldest order it is archived, and holds up no other one.
#[tokio::test]
async fn a_contested_number_leaves_its_order_at_the_start_of_its_trade() {
    let server = server().await;
    Kiosk::new(&server, "K".to_owned()).await;
    let days_ago = |id: &str, days: i64| line("K", id, START_MS - days * DAY_MS);
    let numbered = |line: String| line.replace("}\n", ",\"tradeNoIn\":\"N\"}\n");
    let lines = [
        numbered(days_ago("old", 4)),
        days_ago("recent", 1),
        days_ago("older", 3),
        numbered(days_ago("claims", 2)),
    ];
    let (imported, rejected) = server.import(lines.concat()).await;
    let counts = imported.counts;
    assert_eq!((counts.accepted, counts.rejected, rejected.len()), (3, 1, 1), "{rejected:?}");
    let mut reader = PageReader::new(&server, ORDERS_PATH, "orderId").await;
    let all = json!({"deviceCode": "K", "includeHistory": true});
    assert_eq!(reader.read(&all, 10).await, ["recent", "older", "old"]);
    let before = UnixMs(START_MS - 2 * DAY_MS);
    server.store.upkeep().archive(before, server.now()).await.unwrap();
    assert_eq!(reader.read(&json!({"deviceCode": "K"}), 10).await, ["recent"]);
}

/// Filters compare milliseconds and records show seconds: an update within a second counts.
#[tokio::test]
async fn an_update_moves_an_order_by_less_than_a_second() {
    let server = server().await;
    Kiosk::new(&server, "K".to_owned()).await;
    let mut reader = PageReader::new(&server, ORDERS_PATH, "orderId").await;
    let order = |ms: i64| {
        let started = format!("2026-03-02T09:00:00.{ms:03}Z");
        line("K", "o1", START_MS).replace("2026-03-02 10:00:00", &started)
    };
    let at = START_MS - 3_600_000;
    for ms in [200, 700, 0] {
        server.import_valid(order(ms)).await;
        for (start, end, listed) in [(ms, ms + 1, 1), (0, ms, 0), (ms + 1, 1_000, 0)] {
            let (start, end) = (at + start, at + end);
            let body = json!({"deviceCode": "K", "startTimestamp": start, "endTimestamp": end});
            assert_eq!(reader.read(&body, 1).await.len(), listed, "{ms} {body}");
        }
    }
}
