//! REQ-12: text with a NUL is never stored, and PostgreSQL cannot even be queried for it. The
//! answer is a violation, or that nothing was found, never a system failure.

use kiosque_testkit::ORDERS_CALL;
use serde_json::{Value, json};

use super::{FLEET_CALL, counts, with_key};

/// Returns every variant of `whole` with a NUL at the end of one of its texts.
fn with_a_nul(whole: &Value) -> Vec<Value> {
    let put = |at: Value, back: &dyn Fn(Value) -> Value| {
        with_a_nul(&at).into_iter().map(back).collect::<Vec<_>>()
    };
    match whole {
        Value::String(text) => vec![json!(format!("{text}\0"))],
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, field)| {
                put(field.clone(), &|changed| {
                    let mut all = fields.clone();
                    all.insert(name.clone(), changed);
                    Value::Object(all)
                })
            })
            .collect(),
        Value::Array(items) => (0..items.len())
            .flat_map(|at| {
                put(items[at].clone(), &|changed| {
                    let mut all = items.clone();
                    all[at] = changed;
                    Value::Array(all)
                })
            })
            .collect(),
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn an_order_with_a_nul_in_any_of_its_texts_is_set_aside() {
    let (server, key) = with_key("orders").await;
    let order = json!({
        "orderId": "o", "deviceCode": "D1", "currency": "EUR", "totalAmount": 5,
        "tradeStartTime": "2026-03-01 09:00:00", "payEndTime": "2026-03-01 09:00:20",
        "shipmentTime": "2026-03-01 09:00:30", "tradeNo": "t", "tradeNoIn": "i",
        "cardNumber": "4111", "phone": "555", "payChannelName": "card",
        "detailVOList": [{
            "goodsId": "cola", "goodsName": "Cola", "aisleCode": "1", "shipmentFailDesc": "none",
        }],
    });
    let bad = with_a_nul(&order);
    assert_eq!(bad.len(), 15);
    let body: String = bad.iter().map(|order| format!("{order}\n")).collect();
    let reply = server.call_operator(ORDERS_CALL, Some(&key), body).await;
    assert_eq!(counts(&reply), [0, 0, 0, 15], "{reply:?}");
    let reply = server.call_operator(ORDERS_CALL, Some(&key), order.to_string()).await;
    assert_eq!(counts(&reply), [1, 0, 0, 0], "{reply:?}");
}

#[tokio::test]
async fn a_fleet_with_a_nul_in_any_of_its_texts_is_refused() {
    let (server, key) = with_key("fleet").await;
    let hash =
        server.store.sessions().credentials(&kiosque_model::LoginName::parse("ops").unwrap()).await;
    let hash = hash.unwrap().unwrap().password_hash;
    let fleet = json!({
        "group": [{"id": "g9", "name": "Nine"}],
        "account": [{
            "login_name": "new", "display_name": "New", "password_hash": hash, "groups": ["g1"],
        }],
        "product": [{"id": "p", "name": "P", "category": "c", "currency": "EUR"}],
        "device": [{
            "code": "D9", "name": "Nine", "group": "g1", "since": "2026-03-01T00:00:00Z",
            "model": "m", "address": "a",
            "aisle": [{"code": "1", "product": "cola", "price": 1, "cabinet": "1"}],
        }],
    });
    let bad = with_a_nul(&fleet);
    assert_eq!(bad.len(), 19);
    for fleet in bad {
        let reply = server.call_operator(FLEET_CALL, Some(&key), fleet.to_string()).await;
        assert_eq!(reply.status, 422, "{fleet}: {reply:?}");
    }
    // Of a password only its hash is stored.
    let clear = json!({"account": [{"login_name": "ops", "password": "a\0b"}]});
    for fleet in [clear, fleet] {
        let reply = server.call_operator(FLEET_CALL, Some(&key), fleet.to_string()).await;
        assert_eq!(reply.status, 200, "{fleet}: {reply:?}");
    }
}

/// No account has such a name, so the filter finds no entry.
#[tokio::test]
async fn the_trail_of_an_account_with_a_nul_is_an_empty_page() {
    let (server, key) = with_key("audit").await;
    server.log_in("ops").await;
    for (account, entries) in [("ops", 1), ("%00", 0), ("ops%00", 0), ("%00ops", 0)] {
        let path = format!("/operator/v1/audit?account={account}");
        let reply = server.get_operator(&path, Some(&key)).await;
        assert_eq!(reply.status, 200, "{account}: {reply:?}");
        assert_eq!(reply.json["entries"].as_array().unwrap().len(), entries, "{account}");
        assert_eq!(reply.json["next"], Value::Null);
    }
    // No key contains one, and no header can; this is the closest possible.
    let reply = server.call_operator(ORDERS_CALL, Some("%00"), "").await;
    assert_eq!(reply.status, 401, "{reply:?}");
}
