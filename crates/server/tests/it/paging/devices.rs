//! Pages of devices: the order by code point, with every filter.

use kiosque_testkit::{DEVICES_PATH, OrderLine, Rng, START_MS, TestServer, seed, size};
use serde_json::{Value, json};

use super::{PageReader, server};

const ONLINE_MS: i64 = 600_000;

/// A device, as far as pages depend on it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kiosk {
    code: String,
    name: String,
    own: bool,
    listed: bool,
    last_active: Option<i64>,
}

/// Returns codes of many scripts: ASCII, accents, CJK, and characters beyond the Basic Multilingual
/// Plane, which UTF-16 sorts before U+FFFF and code point order after it.
fn codes(rng: &mut Rng, count: usize) -> Vec<String> {
    const PARTS: [&str; 16] = [
        "a",
        "A",
        "Z",
        "z",
        "0",
        "9",
        "-",
        "_",
        "~",
        "é",
        "e\u{301}",
        "ß",
        "机",
        "ﬀ",
        "😀",
        "\u{10FFFF}",
    ];
    let mut codes = std::collections::BTreeSet::new();
    while codes.len() < count {
        let code: String = (0..1 + rng.below(4)).map(|_| rng.choose(&PARTS)).collect();
        codes.insert(code);
    }
    codes.into_iter().collect()
}

/// Creates the devices in any order. Some are not enabled, some belong to another group, and some
/// have sold.
async fn make(server: &TestServer, rng: &mut Rng, count: usize) -> Vec<Kiosk> {
    let mut codes = codes(rng, count);
    let (mut kiosks, mut fleet, mut orders) = (Vec::new(), String::new(), String::new());
    while !codes.is_empty() {
        let code = codes.swap_remove(rng.below(codes.len()));
        let name = rng.choose(&["Kiosk", "kiosk é", "100%", "Lobby_1", "机器"]).to_owned();
        let enabled = !rng.one_in(8);
        let own = !rng.one_in(8);
        let group = if own { "g" } else { "other" };
        fleet += &format!(
            "[[device]]\ncode = {}\nname = {}\ngroup = \"{group}\"\nenabled = {enabled}\n",
            json!(code),
            json!(name),
        );
        let ago = rng.one_in(2).then(|| rng.range(0..1_200) * 1_000);
        if let Some(ago) = ago {
            let start = kiosque_model::Zone::utc().text(kiosque_model::UnixMs(START_MS - ago));
            orders += &OrderLine::new(&code, &code, start).to_string();
        }
        let last_active = ago.map(|ago| START_MS - ago);
        kiosks.push(Kiosk { code, name, own, listed: own && enabled, last_active });
    }
    server.apply(&fleet).await.unwrap();
    server.import_valid(orders).await;
    // Rust sorts strings by code point.
    kiosks.sort();
    kiosks
}

#[tokio::test]
async fn concatenated_pages_are_all_devices_once_by_code_point_with_any_filter() {
    let (seed, servers) = (seed(), size(6, 60));
    println!("{servers} servers from seed {seed}");
    let mut rng = Rng::seeded(seed);
    for _ in 0..servers {
        let server = server().await;
        let count = rng.below(80);
        let kiosks = make(&server, &mut rng, count).await;
        let mut reader = PageReader::new(&server, DEVICES_PATH, "deviceCode").await;
        let listed: Vec<&Kiosk> = kiosks.iter().filter(|kiosk| kiosk.listed).collect();
        for page_size in [1, 2, 7, 1 + rng.below(40), 1_000] {
            check(&mut reader, &json!({}), &listed, page_size, |_| true).await;
        }
        for part in ["Kiosk", "iosk", "kiosk é", "%", "_", "机", "", "nothing"] {
            let contains = |kiosk: &Kiosk| kiosk.name.contains(part);
            check(&mut reader, &json!({"deviceName": part}), &listed, 3, contains).await;
        }
        for wanted in [0, 1] {
            let is_so = |kiosk: &Kiosk| {
                let online = kiosk.last_active.is_some_and(|last| last >= START_MS - ONLINE_MS);
                i64::from(online) == wanted
            };
            check(&mut reader, &json!({"isOnline": wanted}), &listed, 4, is_so).await;
        }
        for kiosk in &kiosks {
            let body = json!({"deviceCode": kiosk.code, "groupId": "g"});
            if kiosk.own {
                check(&mut reader, &body, &listed, 2, |other| other.code == kiosk.code).await;
            } else {
                assert_eq!(reader.code_of(&body).await, -1, "{body}");
            }
        }
    }
}

async fn check(
    reader: &mut PageReader,
    body: &Value,
    listed: &[&Kiosk],
    page_size: usize,
    matches: impl Fn(&Kiosk) -> bool,
) {
    let matching = listed.iter().filter(|kiosk| matches(kiosk));
    let codes: Vec<&str> = matching.map(|kiosk| kiosk.code.as_str()).collect();
    assert_eq!(reader.read(body, page_size).await, codes, "{body}, size {page_size}");
    if page_size == 7 || body["isOnline"] == 1 {
        reader.check_past_the_end(body, codes.len()).await;
    }
}

/// REQ-12: text with a NUL matches nothing, next to the most unusual texts that exist.
#[tokio::test]
async fn a_filter_with_a_nul_matches_nothing() {
    let server = server().await;
    let odd = "\u{10FFFF}".repeat(4);
    server
        .apply(&format!("[[device]]\ncode = \"{odd}\"\nname = \"{odd}\"\ngroup = \"g\"\n"))
        .await
        .unwrap();
    let mut reader = PageReader::new(&server, DEVICES_PATH, "deviceCode").await;
    assert_eq!(reader.read(&json!({"deviceName": odd}), 10).await, [odd.as_str()]);
    for part in ["\0".to_owned(), format!("{odd}\0")] {
        let body = json!({"deviceName": part});
        assert_eq!(reader.read(&body, 10).await, [""; 0], "{body}");
        assert_eq!(reader.code_of(&json!({"deviceCode": part})).await, -1);
    }
}
