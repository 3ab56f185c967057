//! Answers about all devices of a group always equal the fleet: pages, counts and lowest prices are
//! compared with what a scan of the devices finds, at any time.

use std::collections::BTreeMap;

use bytes::Bytes;
use kiosque_contract::{DeviceAisles, DeviceRecord};
use kiosque_model::fleet::{Aisle, DeviceEntry, Fleet, GroupEntry, ProductEntry};
use kiosque_model::{Claim, DeviceCode, GroupId, Minor, PageRequest, PresentedToken, UnixMs};
use kiosque_store::{
    ApplyError, DashboardQuery, Device, DevicePart, DeviceQuery, DevicesRead, Error, JsonRecords,
    OnlineSince,
};
use kiosque_testkit::entries::{
    aisle, bare_device, beat, device, group_id, moved, order, product, rate, sale, sold,
};
use kiosque_testkit::{NOW, Rng, TestData, TestStore, seed};
use serde::de::DeserializeOwned;

const DAY_MS: i64 = 86_400_000;
/// The most devices and bytes of the parts in which lists are read.
const PARTS: [(usize, usize); 3] = [(1_000, 1_000_000), (3, 1_000_000), (1_000, 500)];

const ONLINE: OnlineSince = OnlineSince(UnixMs(10));

fn code_and_name(device: &DeviceRecord<'_>) -> String {
    format!("{} {}", device.device_code, device.device_name)
}

/// Adds the record of a device that was read from its row.
fn record(json: &mut Vec<u8>, device: Device<'_>) -> Result<(), Error> {
    json.push(b',');
    json.extend(serde_json::to_vec(&device.record(ONLINE)).unwrap());
    Ok(())
}

/// Returns the total of a device page, and its records.
fn texts((total, page): (i64, JsonRecords)) -> (i64, Vec<String>) {
    let text = |json: &[u8]| String::from_utf8(json.to_vec()).unwrap();
    (total, page.iter().map(text).collect())
}

/// Parses the JSON of a part.
fn parsed<T: DeserializeOwned>(json: &[u8]) -> Vec<T> {
    let json = json.strip_prefix(b",").unwrap_or_default();
    serde_json::from_slice(&[b"[", json, b"]"].concat()).unwrap()
}

/// Returns a list that is read in parts with `read`, which has each device once, by code.
async fn in_parts(
    (size, most_bytes): (usize, usize),
    read: impl AsyncFn(DevicePart) -> DevicesRead,
) -> String {
    let (mut part, mut list) = (DevicePart { after: String::new(), size, most_bytes }, Vec::new());
    loop {
        let read = read(part).await;
        list.extend_from_slice(&read.json);
        match read.next {
            Some(after) => part = DevicePart { after, size, most_bytes },
            None => return String::from_utf8(list).unwrap(),
        }
    }
}

/// The first part of a list, which has all its devices.
fn whole() -> DevicePart {
    DevicePart { after: String::new(), size: 1_000, most_bytes: 1_000_000 }
}

/// Returns the lowest price of a product.
fn lowest_price(devices: &[DeviceAisles], goods_id: &str) -> Option<i64> {
    let layers = devices.iter().flat_map(|device| &device.cabinets).flat_map(|of| &of.layers);
    let aisles = layers.flat_map(|layer| &layer.aisles);
    let priced = aisles.filter(|aisle| aisle.is_enable == 1 && aisle.goods_id == goods_id);
    priced.map(|aisle| aisle.price).min()
}

/// A store, and a session that may see its groups.
struct Lists {
    fixture: TestStore,
    session: PresentedToken,
}

impl Lists {
    async fn new() -> Lists {
        let fixture = TestStore::with_fleet().await;
        let session = fixture.log_in("ops").await.unwrap();
        let sales = [("o1", "d1"), ("o2", "e1")];
        let sale = sale(10, "USD", &[("p", 1, 5)]);
        let sales = sales.map(|(id, code)| sold(order(id, code, 10), sale.clone()));
        fixture.receive_new(sales.to_vec()).await;
        fixture.store.fleet().set_rates(vec![rate("EUR", 0, "1")]).await.unwrap();
        Lists { fixture, session }
    }

    fn claim(&self, now: UnixMs) -> Claim {
        Claim { token: self.session.clone(), now }
    }

    async fn page(&self, group: &str, now: UnixMs, page: PageRequest) -> (i64, Vec<String>) {
        let group = Some(GroupId::parse(group));
        let query = DeviceQuery { group, code: None, name_part: None, is_online: None, page };
        let reports = self.fixture.store.reports();
        let read = reports.read_device_page(self.claim(now), ONLINE, query.clone()).await.unwrap();
        let [(total, page), from_cache] =
            [read, reports.device_page(self.claim(now), ONLINE, query).await.unwrap()].map(texts);
        assert_eq!(from_cache, (total, page.clone()), "at {now:?}");
        let page = page.iter().map(|json| code_and_name(&serde_json::from_str(json).unwrap()));
        (total, page.collect())
    }

    /// Returns the records of a group's devices, which are read from their rows.
    async fn records(&self, all: &DashboardQuery, now: UnixMs) -> Vec<u8> {
        let reports = self.fixture.store.reports();
        reports.each_device(self.claim(now), all, &whole(), record).await.unwrap()
    }

    /// Compares the profile of a group, in parts of several sizes, with the rows of its devices.
    async fn check_profile(&self, all: &DashboardQuery, now: UnixMs) {
        let reports = self.fixture.store.reports();
        let expected = String::from_utf8(self.records(all, now).await).unwrap();
        for sizes in PARTS {
            let read = async |part| {
                let read = reports.device_profile(self.claim(now), all.clone(), part, ONLINE);
                read.await.unwrap()
            };
            let profile = in_parts(sizes, read).await;
            assert_eq!(profile, expected, "at {now:?} in parts of {sizes:?}");
        }
    }

    /// Compares the aisles of a group, in parts of several sizes, with the aisles of its devices.
    async fn check_aisles(&self, all: &DashboardQuery, now: UnixMs) -> Bytes {
        let reports = self.fixture.store.reports();
        let records = self.records(all, now).await;
        let devices: Vec<DeviceRecord<'_>> = parsed(&records);
        let codes = devices.iter().map(|device| DeviceCode::parse(&*device.device_code));
        let each = DashboardQuery { devices: codes.collect(), ..all.clone() };
        let expected = match devices.as_slice() {
            [] => Bytes::new(),
            _ => reports.device_aisles(self.claim(now), each, whole()).await.unwrap().json,
        };
        for sizes in PARTS {
            let read = async |part| {
                reports.device_aisles(self.claim(now), all.clone(), part).await.unwrap()
            };
            let list = in_parts(sizes, read).await;
            assert_eq!(list.as_bytes(), expected, "at {now:?} in parts of {sizes:?}");
        }
        expected
    }

    /// Checks every answer about all devices of a group.
    async fn check(&self, group: &str, now: UnixMs) {
        let store = &self.fixture.store;
        let all = DashboardQuery {
            group: Some(GroupId::parse(group)),
            devices: Vec::new(),
            start: UnixMs(0),
            end: UnixMs(DAY_MS),
        };
        let records = self.records(&all, now).await;
        let devices: Vec<DeviceRecord<'_>> = parsed(&records);
        self.check_profile(&all, now).await;
        let aisles: Vec<DeviceAisles> = parsed(&self.check_aisles(&all, now).await);
        let codes = |device: &DeviceAisles| device.device_code.clone();
        assert!(aisles.iter().map(codes).eq(devices.iter().map(|one| one.device_code.to_string())));
        let devices: Vec<String> = devices.iter().map(code_and_name).collect();
        let count = i64::try_from(devices.len()).unwrap();
        for size in [1_000, 3] {
            let mut listed = Vec::new();
            for current in 1.. {
                let page = PageRequest::new(current, size).unwrap();
                let (total, page) = self.page(group, now, page).await;
                assert_eq!(total, count, "{group} at {now:?}");
                if page.is_empty() {
                    break;
                }
                listed.extend(page);
            }
            assert_eq!(listed, devices, "{group} at {now:?}");
        }
        let online = OnlineSince(UnixMs(0));
        let summary = store.reports().summary(self.claim(now), online, all.clone()).await.unwrap();
        assert_eq!(summary.devices, count, "{group} at {now:?}");
        let best = store.reports().best_sellers(self.claim(now), all, 10).await.unwrap();
        assert_eq!(best.is_empty(), devices.is_empty(), "{group} at {now:?}");
        if let [best] = best.as_slice() {
            // The product has no default price.
            let expected = lowest_price(&aisles, "p");
            assert_eq!(best.price.map(|price| price.cents()), expected, "{group} at {now:?}");
        }
    }
}

fn random_aisles(rng: &mut Rng) -> Vec<Aisle> {
    let aisles = (0..rng.below(4)).map(|number| Aisle {
        price: Minor(rng.range(1..5)),
        enabled: !rng.one_in(3),
        ..aisle(&number.to_string(), "p", 1)
    });
    aisles.collect()
}

fn random_entry(rng: &mut Rng, now: UnixMs) -> DeviceEntry {
    let number = rng.below(20);
    let group = rng.choose(&["a", "b"]);
    let code = format!("k{number:02}");
    DeviceEntry {
        name: Some(format!("Name {}", rng.below(3))),
        group: if rng.one_in(2) { Some(group_id(group)) } else { None },
        since: rng.option(|rng| now.plus_ms(rng.range(-50..200))),
        enabled: rng.option(|rng| rng.one_in(2)),
        aisles: rng.option(random_aisles),
        ..device(&code, group)
    }
}

/// Fleets change, moves are made for later, and clocks of nodes differ.
#[tokio::test]
async fn lists_equal_a_scan_of_the_devices() {
    let seed = seed();
    let mut rng = Rng::seeded(seed);
    let lists = Lists::new().await;
    let mut now = NOW;
    for step in 0..60 {
        let entries: BTreeMap<String, DeviceEntry> = (0..rng.below(6) + 1)
            .map(|_| random_entry(&mut rng, now))
            .map(|entry| (entry.code.to_string(), entry))
            .collect();
        let (devices, mut products) = (entries.into_values().collect(), Vec::new());
        if rng.one_in(4) {
            // The aisles of each device have the name of the product.
            let name = Some(format!("Name {}", rng.below(3)));
            products.push(ProductEntry { name, ..product("p") });
        }
        match lists.fixture.apply_at(Fleet { devices, products, ..Fleet::default() }, now).await {
            Ok(_) | Err(ApplyError::Invalid(_)) => {}
            Err(error) => panic!("{error}"),
        }
        for at in [now, now.plus_ms(rng.range(1..100)), now.plus_ms(-rng.range(1..100))] {
            for group in ["a", "b"] {
                lists.check(group, at).await;
            }
        }
        let differences = lists.fixture.differences().await;
        assert_eq!(differences, [""; 0], "step {step}, seed {seed}");
        now = now.plus_ms(rng.range(0..60));
    }
}

/// Cached lists have the activity of now, and are not used after an apply that changes a device or
/// a name.
#[tokio::test]
async fn cached_lists_are_the_present_ones() {
    let lists = Lists::new().await;
    let store = &lists.fixture.store;
    let query = |group: &str| DashboardQuery {
        group: Some(GroupId::parse(group)),
        devices: Vec::new(),
        start: UnixMs(0),
        end: UnixMs(0),
    };
    let a = query("a");
    let aisles = Some(vec![aisle("1", "p", 1)]);
    let filled = DeviceEntry { aisles, ..bare_device("d1") };
    lists.fixture.apply_devices(vec![filled]).await;
    lists.check_aisles(&a, NOW).await;
    lists.check_profile(&a, NOW).await;
    let beat = beat("d1", NOW);
    assert_eq!(store.intake().record_heartbeats(vec![beat]).await.unwrap(), []);
    lists.check_profile(&a, NOW).await;
    store.intake().write_activity().await.unwrap();
    lists.check_profile(&a, NOW).await;
    // The rows of the devices are not read.
    let profile = || store.reports().device_profile(lists.claim(NOW), a.clone(), whole(), ONLINE);
    let aisles = || store.reports().device_aisles(lists.claim(NOW), a.clone(), whole());
    let before = (profile().await.unwrap(), aisles().await.unwrap());
    lists.fixture.tamper("update devices set address = 'elsewhere'");
    lists.fixture.tamper("update aisle_texts set element = '{}'");
    assert_eq!((profile().await.unwrap(), aisles().await.unwrap()), before);
    lists.fixture.tamper("update devices set address = ''");
    let renamed = DeviceEntry { model: Some("M".to_owned()), ..bare_device("d1") };
    let group = GroupEntry { id: group_id("a"), name: Some("Other".to_owned()), active: None };
    for fleet in [
        Fleet { devices: vec![renamed], ..Fleet::default() },
        Fleet { groups: vec![group], ..Fleet::default() },
        Fleet {
            products: vec![ProductEntry { name: Some("P".to_owned()), ..product("p") }],
            ..Fleet::default()
        },
        Fleet { devices: vec![device("d0", "a")], ..Fleet::default() },
    ] {
        lists.fixture.apply(fleet).await.unwrap();
        lists.check_profile(&a, NOW).await;
        // Texts that were tampered with are made again with their device.
        lists.check_aisles(&a, NOW).await;
    }
}

/// A page far behind the first one reads the codes of all devices before it. On SQLite, it caches
/// the devices, so that the pages after it do not.
#[tokio::test]
async fn a_late_page_of_a_large_group_caches_its_devices() {
    let lists = Lists::new().await;
    let devices = (0..150).map(|number| device(&format!("k{number:03}"), "a")).collect();
    lists.fixture.apply_devices(devices).await;
    let page = async |current: i64| {
        let group = Some(GroupId::parse("a"));
        let page = PageRequest::new(current, 10).unwrap();
        let query = DeviceQuery { group, code: None, name_part: None, is_online: None, page };
        let reports = lists.fixture.store.reports();
        texts(reports.device_page(lists.claim(NOW), ONLINE, query).await.unwrap())
    };
    let (early, late) = (page(1).await, page(14).await);
    let is_cached = matches!(lists.fixture.data, TestData::Directory(_));
    // Rows that are read again show it.
    lists.fixture.tamper("update devices set address = 'elsewhere'");
    assert_eq!((page(1).await == early, page(14).await == late), (is_cached, is_cached));
    let [early_next, late_next] = [page(2).await, page(15).await];
    let is_changed = |(_, page): &(i64, Vec<String>)| page.iter().all(|d| d.contains("elsewhere"));
    assert_eq!([early_next, late_next].map(|page| is_changed(&page)), [!is_cached; 2]);
}

/// An apply to one group reads no list of another one again.
#[tokio::test]
async fn cached_lists_of_other_groups_stay() {
    let lists = Lists::new().await;
    let store = &lists.fixture.store;
    let entry = |code: &str, stock: i64| DeviceEntry {
        aisles: Some(vec![aisle("1", "p", stock)]),
        ..bare_device(code)
    };
    let devices = vec![entry("d1", 1), entry("e1", 1)];
    lists.fixture.apply_devices(devices).await;
    let read = async |group: &str| {
        let group = Some(GroupId::parse(group));
        let query = DashboardQuery { group, devices: Vec::new(), start: UnixMs(0), end: UnixMs(0) };
        let aisles = store.reports().device_aisles(lists.claim(NOW), query.clone(), whole());
        let profile = store.reports().device_profile(lists.claim(NOW), query, whole(), ONLINE);
        (aisles.await.unwrap().json, profile.await.unwrap().json)
    };
    let before = (read("a").await, read("b").await);
    // Lists that are read again show it.
    lists.fixture.tamper("update devices set address = 'elsewhere'");
    lists.fixture.tamper("update aisle_texts set element = '{}'");
    assert_eq!((read("a").await, read("b").await), before);
    let restocked = Fleet { devices: vec![entry("d1", 2)], ..Fleet::default() };
    lists.fixture.apply(restocked).await.unwrap();
    let (a, b) = (read("a").await, read("b").await);
    assert_eq!(b, before.1);
    assert!(a.0 != before.0.0 && a.1 != before.0.1, "{a:?}");
    let renamed = ProductEntry { name: Some("Tea".to_owned()), ..product("p") };
    lists.fixture.apply(Fleet { products: vec![renamed], ..Fleet::default() }).await.unwrap();
    let b = read("b").await;
    assert!(b.0 != before.1.0 && b.1 != before.1.1, "{b:?}");
}

/// A planned move takes effect at its instant, in every answer, and nothing has to be written then.
#[tokio::test]
async fn a_planned_move_takes_effect_at_its_instant() {
    let lists = Lists::new().await;
    let entry = moved("d1", "b", Some(NOW.0 + 100));
    lists.fixture.apply_devices(vec![entry]).await;
    let rows = lists.fixture.rows();
    let page = PageRequest::new(1, 10).unwrap();
    let (d1, d2, e1) = ("d1 Device d1", "d2 Device d2", "e1 Device e1");
    for (after, a, b) in [
        (-50, vec![d1, d2], vec![e1]),
        (99, vec![d1, d2], vec![e1]),
        (100, vec![d2], vec![d1, e1]),
        (101, vec![d2], vec![d1, e1]),
        // The clock of another node.
        (99, vec![d1, d2], vec![e1]),
    ] {
        let now = NOW.plus_ms(after);
        for (group, devices) in [("a", a), ("b", b)] {
            let count = i64::try_from(devices.len()).unwrap();
            let devices: Vec<String> = devices.into_iter().map(str::to_owned).collect();
            assert_eq!(lists.page(group, now, page).await, (count, devices), "after {after}");
            lists.check(group, now).await;
        }
    }
    assert_eq!(lists.fixture.rows(), rows);
}

/// Pages of a group of thousands of devices, some of them disabled, up to the last one and after
/// it, before and after a planned move.
#[tokio::test]
async fn every_page_of_a_large_group_is_found() {
    let lists = Lists::new().await;
    let entry = |number: usize| DeviceEntry {
        enabled: Some(!number.is_multiple_of(7)),
        ..device(&format!("k{number:04}"), "b")
    };
    let devices = (0..3_000).map(entry).collect();
    lists.fixture.apply_devices(devices).await;
    let moved = ["k0001", "k1500", "k2999"].map(|code| moved(code, "a", Some(NOW.0 + 10)));
    lists.fixture.apply_devices(moved.to_vec()).await;
    for after in [0, 10] {
        let gone = |code: &String| after == 10 && moved.iter().any(|one| one.code.as_str() == code);
        let codes = (0..3_000).filter(|number| number % 7 != 0).map(|one| format!("k{one:04}"));
        let codes = std::iter::once("e1".to_owned()).chain(codes.filter(|code| !gone(code)));
        let devices: Vec<String> = codes.map(|code| format!("{code} Device {code}")).collect();
        let (count, size) = (i64::try_from(devices.len()).unwrap(), 100);
        for number in [1, 2, 13, 25, 26, 27, 1_000_000] {
            let from = usize::try_from((number - 1) * size).unwrap().min(devices.len());
            let to = devices.len().min(from + 100);
            let page = PageRequest::new(number, size).unwrap();
            let found = lists.page("b", NOW.plus_ms(after), page).await;
            assert_eq!(found, (count, devices[from..to].to_vec()), "page {number} at {after}");
        }
    }
}
