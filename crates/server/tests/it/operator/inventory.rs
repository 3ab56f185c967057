//! `GET /operator/v1/…`: the stored data in pages, for keys with the right `read`.

use kiosque_model::ActedBy;
use kiosque_model::audit::CommandRun;
use kiosque_testkit::{FleetToml, ORDERS_CALL, OrderLine, Reply, START_MS, TestServer};
use serde_json::{Value, json};

use super::{ACTIVITY, FLEET_CALL, line, with_key};

/// The calls that read.
pub(super) const READS: [&str; 12] = [
    "accounts",
    "changes?group=g1",
    "device?deviceCode=D1",
    "devices",
    "fleet",
    "groups",
    "imports",
    "orders",
    "products",
    "rates",
    "sessions",
    "status",
];

async fn get(server: &TestServer, key: &str, call: &str) -> Reply {
    server.get_operator(&format!("/operator/v1/{call}"), Some(key)).await
}

/// Returns the entries of all pages of a list, of which none is larger than the limit.
async fn pages(server: &TestServer, key: &str, call: &str, limit: usize) -> Vec<Value> {
    let join = if call.contains('?') { '&' } else { '?' };
    let call = format!("{call}{join}limit={limit}");
    let (mut all, mut path) = (Vec::new(), call.clone());
    loop {
        let reply = get(server, key, &path).await;
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        let entries = reply.json["entries"].as_array().unwrap();
        assert!(entries.len() <= limit, "{path}: {reply:?}");
        all.extend(entries.iter().cloned());
        let Some(next) = reply.json["next"].as_str() else { return all };
        path = format!("{call}&cursor={next}");
    }
}

/// A device that has moved, and will move again, with an archived order.
async fn moved(server: &TestServer) {
    let aisle = |code: &str, stock: i64| {
        format!("{{ code = \"{code}\", product = \"cola\", price = 250, stock = {stock} }}")
    };
    let fleet = FleetToml::new()
        .group("g3", "Three")
        .account("bob", &["g3", "g1"])
        .product("tea", "Tea", "USD")
        .device("D3", "Hall", "g3")
        .with(&format!("aisle = [{}, {}]", aisle("2", 4), aisle("1", 3)));
    server.apply(fleet).await.unwrap();
    let order = |id, time| OrderLine::new(id, "D1", format!("2026-03-01 {time}")).to_string();
    let move_to = async |group, since| {
        let device = FleetToml::new().device("D1", "Lobby", group);
        server.apply(device.with(&format!("since = \"{since}\""))).await.unwrap();
    };
    server.import_valid(order("o1", "08:00:00") + &order("o2", "08:30:00")).await;
    let before = server.store.zone().parse("2026-03-01 08:15:00").unwrap();
    server.store.upkeep().archive(before, server.now()).await.unwrap();
    move_to("g2", "2026-03-01 09:00:00").await;
    server.import_valid(order("o3", "09:30:00")).await;
    move_to("g3", "2026-03-03 10:00:00").await;
}

/// Each list has its entries whatever the size of its pages.
#[tokio::test]
async fn everything_is_listed_in_pages_of_any_size() {
    let (server, key) = with_key("read,activity,audit").await;
    moved(&server).await;
    let heartbeat = format!(r#"{{"deviceCode":"D1","timestamp":{}}}"#, START_MS - 60_000);
    assert_eq!(server.call_operator(ACTIVITY, Some(&key), heartbeat).await.status, 200);
    server
        .set_rates(&[
            ("JPY", "2026-01-07", "0.0067"),
            ("EUR", "2026-01-20", "1"),
            ("EUR", "2026-01-10", "1.10"),
        ])
        .await;
    server.log_in("ops").await;
    for _ in 0..3 {
        let by = ActedBy::run(CommandRun::default(), server.now());
        server.store.intake().begin_import(by).await.unwrap();
    }
    let mut shown = String::new();
    let mut show = |call: &str, entries: &mut [Value]| {
        for entry in entries {
            for of_the_run in
                ["requestId", "version", "layout", "nodeTimestamps", "databaseBytes", "logBytes"]
            {
                entry.as_object_mut().unwrap().shift_remove(of_the_run);
            }
            shown.push_str(&format!("{call} {entry}\n"));
        }
    };
    for call in [
        "accounts",
        "sessions",
        "groups",
        "devices",
        "devices?groupId=g2",
        "products",
        "rates",
        "imports",
        "orders",
        "orders?deviceCode=D1&groupId=g1",
        "orders?deviceCode=D2",
    ] {
        let mut entries = pages(&server, &key, call, 1).await;
        for limit in [2, 100] {
            assert_eq!(pages(&server, &key, call, limit).await, entries, "{call} {limit}");
        }
        show(call, &mut entries);
    }
    let audit = pages(&server, &key, "audit", 1).await;
    assert!(audit.len() > 5, "{audit:?}");
    for limit in [2, 5, 100] {
        assert_eq!(pages(&server, &key, "audit", limit).await, audit, "{limit} at a time");
    }
    for call in ["status", "device?deviceCode=D1", "device?deviceCode=D3"] {
        show(call, &mut [get(&server, &key, call).await.json]);
    }
    let status = get(&server, &key, "status").await.json;
    for positive in ["layout", "databaseBytes"] {
        assert!(status[positive].as_i64() > Some(0), "{positive}: {status}");
    }
    // The planned move takes effect, and the session has ended.
    server.set_clock("2026-03-03 10:00:00");
    for call in ["status", "device?deviceCode=D1"] {
        show(call, &mut [get(&server, &key, call).await.json]);
    }
    assert!(pages(&server, &key, "sessions", 100).await.is_empty());
    insta::assert_snapshot!("everything", shown);
}

/// Orders are those that integrators see, masked, with their owner; no answer has a hash.
#[tokio::test]
async fn orders_are_masked_and_accounts_have_no_hash() {
    let (server, key) = with_key("read,orders").await;
    let order = line("o", 100).replacen('{', r#"{"cardNumber":"4929000011112222","#, 1);
    assert_eq!(server.call_operator(ORDERS_CALL, Some(&key), order).await.status, 200);
    let token = server.log_in("ops").await.token;
    let shown = super::shown(&server, &token).await;
    let mut listed = pages(&server, &key, "orders", 100).await;
    let fields = listed[0].as_object_mut().unwrap();
    assert_eq!(fields.remove("groupId"), Some(json!("g1")));
    assert_eq!(fields.remove("archived"), Some(json!(false)));
    assert_eq!(listed, shown);
    assert_eq!(listed[0]["cardNumber"], "************2222");
    for call in READS {
        let text = get(&server, &key, call).await.json.to_string();
        for secret in ["argon2", "password", "4929000011112222"] {
            assert!(!text.contains(secret), "{call}: {text}");
        }
    }
}

/// The pages of the fleet, sent back, change nothing.
#[tokio::test]
async fn the_fleet_is_read_in_pages_that_change_nothing() {
    let (server, key) = with_key("read,fleet").await;
    for limit in [1, 3, 1_000] {
        let (mut cursor, mut unchanged) = (String::new(), 0);
        loop {
            let page = get(&server, &key, &format!("fleet?limit={limit}&cursor={cursor}")).await;
            let body = page.json["fleet"].to_string();
            let applied = server.call_operator(FLEET_CALL, Some(&key), body).await;
            assert_eq!(applied.status, 200, "{applied:?}");
            for kind in ["groups", "accounts", "products", "devices"] {
                let counts = &applied.json[kind];
                assert_eq!((&counts["created"], &counts["changed"]), (&json!(0), &json!(0)));
                unchanged += counts["unchanged"].as_u64().unwrap();
            }
            let Some(next) = page.json["next"].as_str() else { break };
            cursor = next.to_owned();
        }
        assert_eq!(unchanged, 6, "{limit}");
    }
}

#[tokio::test]
async fn everything_wrong_with_a_query_is_named() {
    let (server, key) = with_key("read,audit").await;
    let cursor = "cursor must be the value of next in an answer";
    let limit = "limit must be from 1 to 1000";
    let since = "sinceTimestamp must be Unix milliseconds";
    let (account, source) = ("account must be a login name", "source must be an address");
    let group = "group must be the id of a group";
    let after = "after must be the value of next in a line";
    for (call, errors) in [
        ("audit?limit=0&sinceTimestamp=yesterday&cursor=1", &[since, limit, cursor][..]),
        ("audit?limit=1001", &[limit]),
        ("audit?limit=-1", &[limit]),
        ("audit?limit=", &[limit]),
        ("audit?limit=1&limit=1", &["limit must be given once"]),
        ("audit?sinceTimestamp=", &[since]),
        ("audit?sinceTimestamp=99999999999999999999", &[since]),
        ("audit?account=&source=", &[account, source]),
        ("audit?cursor=00000000000000FF", &[cursor]),
        ("audit?cursor=0000000000000000", &[cursor]),
        ("audit?account=%ff&cursor=%00", &["account is not valid UTF-8", cursor]),
        ("groups?limit=0&cursor=x", &[limit, cursor]),
        ("accounts?cursor=6", &[cursor]),
        ("products?cursor=6100", &[cursor]),
        ("rates?cursor=61", &[cursor]),
        ("orders?cursor=61&limit=1001", &[limit, cursor]),
        ("fleet?cursor=7a", &[cursor]),
        ("devices?groupId=%20", &["groupId must be the id of a group"]),
        ("devices?groupId=", &["groupId must be the id of a group"]),
        ("orders?deviceCode=&limit=", &["deviceCode must be the code of a device", limit]),
        ("device", &["deviceCode must be the code of a device"]),
        ("changes", &[group]),
        ("changes?after=x&follow=1", &[group, after, "follow must be true or false"]),
    ] {
        let reply = get(&server, &key, call).await;
        assert_eq!((reply.status, &reply.json["faults"]), (400, &json!(errors)), "{call}");
    }
    let unknown = get(&server, &key, "device?deviceCode=D9").await;
    assert_eq!((unknown.status, &unknown.json["detail"]), (404, &json!("no device D9 is known")));
}

/// A misspelt filter is no answer about every group, and an unknown group is no empty list. The
/// parameters come from the queries that the calls declare.
#[tokio::test]
async fn unknown_keys_and_groups_are_refused_by_name() {
    let (server, key) = with_key("read,audit,orders,activity,fleet").await;
    let list = "limit, cursor";
    for (call, unknown, takes) in [
        ("devices?limit=1&groupid=g2", "groupid", "groupId, limit, cursor"),
        (
            "orders?payStatus=3&limit=1&x%20y=",
            "payStatus, x%20y",
            "groupId, deviceCode, shipment, payment, since, until, limit, cursor",
        ),
        ("audit?accounts=ops", "accounts", "account, event, source, sinceTimestamp, limit, cursor"),
        ("device?deviceCode=D1&code=D2", "code", "deviceCode"),
        ("changes?group=g1&follows=true", "follows", "group, after, follow"),
        ("fleet?password", "password", list),
        ("accounts?group=g1", "group", list),
        ("groups?size=1", "size", list),
        ("imports?state=running", "state", list),
        ("products?currency=USD", "currency", list),
        ("rates?currency=EUR", "currency", list),
        ("sessions?account=ops", "account", list),
        ("status?limit=1", "limit", "none"),
    ] {
        let reply = get(&server, &key, call).await;
        let errors = json!([format!("unknown keys: {unknown}; the call takes {takes}")]);
        assert_eq!((reply.status, &reply.json["faults"]), (400, &errors), "{call}");
        assert_eq!(reply.headers["content-type"], "application/problem+json");
        let secret = get(&server, "kqo_none", call).await;
        assert_eq!(secret.status, 401, "{call}");
    }
    for call in [ORDERS_CALL, "/operator/v1/activity", FLEET_CALL] {
        let reply = server.call_operator(&format!("{call}?dryRun=true"), Some(&key), "{}").await;
        let errors = json!(["unknown keys: dryRun; the call takes none"]);
        assert_eq!((reply.status, &reply.json["faults"]), (400, &errors), "{call}");
    }
    for call in ["devices?groupId=g9", "orders?groupId=g9", "changes?group=g9"] {
        let reply = get(&server, &key, call).await;
        assert_eq!((reply.status, &reply.json["detail"]), (404, &json!("no group g9 is known")));
    }
    let empty = get(&server, &key, "orders?groupId=g2").await;
    assert_eq!((empty.status, &empty.json["entries"]), (200, &json!([])));
    let event = get(&server, &key, "audit?event=logIn").await;
    let names = "login, loginRefused, switchGroup, logout, sessionReplaced, sessionEnded, \
                 fleetApplied, keyCreated, keyRevoked, archived, deviceDeleted, ordersImported, \
                 ratesImported, consoleLinkCreated, consoleLogin, \
                 consoleLoginRefused, consoleLogout, importInterrupted";
    let errors = json!([format!("event must be one of {names}")]);
    assert_eq!((event.status, &event.json["faults"]), (400, &errors));
}

/// Of each filter there is an order that it includes, and one that it does not.
#[tokio::test]
async fn orders_are_listed_by_state_and_time() {
    let (server, key) = with_key("read").await;
    let order = |id: &str, device: &str, start: &str, shipment: i64| {
        let order = OrderLine::new(id, device, format!("2026-03-01 {start}"));
        order.with("shipmentStatus", shipment)
    };
    let orders = [
        order("sold", "D1", "08:00:00", 1).paid("2026-03-01 08:00:10"),
        order("failed", "D1", "09:00:00", 3).paid("2026-03-01 09:00:10"),
        order("partial", "D2", "10:00:00", 4).paid("2026-03-01 10:00:10"),
        order("unpaid", "D2", "11:00:00", 0),
        order("cancelled", "D1", "11:30:00", 2).with("payStatus", 2),
    ];
    server.import_valid(orders.map(|order| order.to_string()).concat()).await;
    for (query, expected) in [
        ("shipment=failed,partial", &["partial", "failed"][..]),
        ("shipment=in%20progress", &["cancelled"]),
        // In the encoding of forms, `+` is a space; an offset may have it all the same.
        ("shipment=in+progress", &["cancelled"]),
        ("since=2026-03-01&until=2026-03-01+09:00:10", &["sold"]),
        ("since=2026-03-01&until=2026-03-01T10:00:10%2B01:00", &["sold"]),
        ("since=2026-03-01&until=2026-03-01T10:00:10+01:00", &["sold"]),
        ("payment=Unpaid", &["unpaid"]),
        ("payment=paid&shipment=success&groupId=g1", &["sold"]),
        ("since=2026-03-01%2009:00:10", &["cancelled", "unpaid", "partial", "failed"]),
        ("since=2026-03-01&until=2026-03-01%2009:00:10", &["sold"]),
        ("until=2026-03-01", &[]),
        // The orders of a device, in the order of their arrival.
        ("payment=paid&deviceCode=D1", &["sold", "failed"]),
        ("since=2026-03-01%2009:00:00&deviceCode=D1", &["failed", "cancelled"]),
    ] {
        for limit in [1, 2, 100] {
            let listed = pages(&server, &key, &format!("orders?{query}"), limit).await;
            let ids: Vec<&str> = listed.iter().map(|it| it["orderId"].as_str().unwrap()).collect();
            assert_eq!(ids, expected, "{query} by {limit}");
        }
    }
    let wrong = get(&server, &key, "orders?shipment=lost&payment=&since=now&until=x").await;
    assert_eq!(wrong.status, 400);
    let time = "must be RFC 3339, or yyyy-MM-dd, or yyyy-MM-dd HH:mm:ss";
    let errors = [
        "shipment must be one or more of none, success, in progress, failed, partial".to_owned(),
        "payment must be one or more of unpaid, paid, cancelled, refunding, refunded".to_owned(),
        format!("since {time}"),
        format!("until {time}"),
    ];
    assert_eq!(wrong.json["faults"], json!(errors), "{wrong:?}");
    let span = "orders?since=2026-02-30&until=2026-03-01%2009:00:00";
    let wrong = get(&server, &key, span).await;
    let error = "since is not a time: \"2026-02-30\" does not exist in the calendar";
    assert_eq!(wrong.json["faults"], json!([error]), "{wrong:?}");
    let wrong = get(&server, &key, "orders?since=2026-03-02&until=2026-03-01").await;
    assert_eq!(wrong.json["faults"], json!(["until is before since"]), "{wrong:?}");
}
