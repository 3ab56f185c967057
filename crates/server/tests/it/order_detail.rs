//! Order detail.

use kiosque_testkit::{DETAIL_PATH, ORDERS_PATH, TestServer, snapshot};

use crate::catalog::{self, ask, column};

async fn detail(server: &TestServer, token: &str, body: &str) -> String {
    snapshot(&ask(server, token, DETAIL_PATH, "", body).await)
}

/// ORD-16, ORD-17: the fields of a detail, with `detailList` and `shipmentErrorList`. ORD-19: of
/// several orders with one `tradeNo` the newest, and one order by its `tradeNoIn`. ORD-15: a blank
/// number counts as absent. ORD-12: the detail of an unpaid order.
#[tokio::test]
async fn an_order_is_shown_by_either_of_its_numbers() {
    let (server, token) = catalog::open_to_ops().await;
    let outer = detail(&server, &token, r#"{"tradeNoOut":"T-1"}"#).await;
    insta::assert_snapshot!("a_detail_with_shipment_errors", outer);
    for body in [
        r#"{"tradeNoIn":"I-3"}"#,
        r#"{"tradeNoOut":"T-1","tradeNoIn":"I-3"}"#,
        r#"{"tradeNoOut":"","tradeNoIn":"I-3"}"#,
        r#"{"tradeNoOut":null,"tradeNoIn":"I-3"}"#,
        r#"{"tradeNoOut":"  ","tradeNoIn":"I-3"}"#,
    ] {
        assert_eq!(detail(&server, &token, body).await, outer, "{body}");
    }
    let older = detail(&server, &token, r#"{"tradeNoOut":"T-1","tradeNoIn":"oid:O-1"}"#).await;
    insta::assert_snapshot!("a_detail_by_both_numbers", older);
    assert_eq!(detail(&server, &token, r#"{"tradeNoIn":"oid:O-1"}"#).await, older);
    let unpaid = detail(&server, &token, r#"{"tradeNoIn":"oid:O-2"}"#).await;
    insta::assert_snapshot!("a_detail_of_an_unpaid_order", unpaid);
}

/// ORD-9: products have the names of the time of the sale, also when a product is renamed and the
/// order is reported again without names. ORD-3: an update keeps the order's place.
#[tokio::test]
async fn names_are_as_of_the_sale() {
    let (server, token) = catalog::open_to_ops().await;
    let renamed = "[[product]]\nid = \"P-1\"\nname = \"Cola light\"\n\
                   [[product]]\nid = \"P-9\"\nname = \"Named later\"\ncurrency = \"EUR\"\n";
    server.apply(renamed).await.unwrap();
    let order = |lines: &str| {
        format!(
            r#"{{"orderId":"O-3","deviceCode":"H-1","currency":"EUR","totalAmount":371,
            "tradeNo":"T-1","tradeStartTime":"2026-03-02 09:55:00","detailVOList":[{lines}]}}"#
        )
        .replace('\n', "")
    };
    let names = async |lines: &str| {
        server.import_valid(order(lines)).await;
        let reply = ask(&server, &token, DETAIL_PATH, "", r#"{"tradeNoIn":"I-3"}"#).await;
        let lines = reply.data()["detailList"].as_array().unwrap().clone();
        lines.iter().map(|line| line["goodsName"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (cola, new) = ("Cola \"0.5\"", "A \"new\" one");
    let (one, nine) = (r#"{"goodsId":"P-1"}"#, r#"{"goodsId":"P-9"}"#);
    assert_eq!(names(&format!("{one},{nine}")).await, [cola, new]);
    assert_eq!(names(&format!("{nine},{one}")).await, [new, cola], "at any position");
    assert_eq!(names(&format!(r#"{one},{{"goodsId":"P-2"}}"#)).await, [cola, "Eau 水"]);
    let named = r#"{"goodsId":"P-1","goodsName":"Given now"}"#;
    assert_eq!(names(named).await, ["Given now"]);
    assert_eq!(names(one).await, ["Given now"]);
    let list = ask(&server, &token, ORDERS_PATH, "", r#"{"deviceCode":"H-1"}"#).await;
    assert_eq!(column(&list, "orderId"), ["O-3", "O-2", "O-1"], "an update keeps its place");
}
