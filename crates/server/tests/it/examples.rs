//! The examples of `docs/interface.md`: each request is sent as it is written, and its answer is
//! compared with the one on the page.

use kiosque_testkit::{FleetToml, TestRequest, TestServer, cheap_hash};
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../../docs/interface.md");

/// Starts a server with the entries and the order that the examples name.
async fn open() -> TestServer {
    let groups = ["harbor-offices", "metropole-gares", "tokyo-stations"];
    let fleet = FleetToml::new()
        .group(groups[0], "Harbor Offices")
        .group(groups[1], "Métropole – Gares")
        .group(groups[2], "東京ステーション")
        .account_with_hash("demo", &cheap_hash("kiosque-demo"), &groups)
        .device("HBR-001", "Pier 1, lobby", groups[0])
        .device("TKY-001", "Marunouchi", groups[2]);
    let server = TestServer::start(fleet).await;
    server.set_clock("2026-11-21T12:00:00Z");
    let order = json!({
        "orderId": "837c06e774e27eb5", "tradeNo": "2026112111474600000000073873",
        "deviceCode": "HBR-001", "currency": "USD", "totalAmount": 475,
        "tradeStartTime": "2026-11-21 11:47:46", "payEndTime": "2026-11-21 11:48:03",
        "shipmentTime": "2026-11-21 11:48:26", "payChannelName": "Mobile wallet",
        "phone": "+1 555 015431", "detailVOList": [
            {"goodsId": "P1005", "goodsName": "Orange Juice 300 ml", "aisleCode": "702",
                "salePrice": 275},
            {"goodsId": "P1004", "goodsName": "Cola Zero 355 ml", "aisleCode": "701",
                "salePrice": 200, "goodsPrice": 225},
        ],
    });
    server.import_valid(order.to_string()).await;
    server
}

/// A fenced block of the page.
enum Block {
    Requests(Vec<Vec<String>>),
    Answers(Vec<Value>),
}

/// Returns the blocks of requests and of answers, in their order.
fn blocks() -> Vec<Block> {
    let fenced = PAGE.split("```").skip(1).step_by(2);
    let blocks = fenced.map(|block| match block.split_once('\n') {
        Some(("sh", calls)) => {
            let calls = calls.replace("\\\n", " ");
            Block::Requests(calls.lines().map(words).collect())
        }
        Some(("json", answers)) => {
            let answers = serde_json::Deserializer::from_str(answers).into_iter();
            Block::Answers(answers.collect::<Result<_, _>>().unwrap())
        }
        _ => panic!("a block of another kind: {block}"),
    });
    blocks.collect()
}

/// Splits a command as a shell does, with both kinds of quotation marks.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in command.chars() {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            (_, Some(_)) => word.push(c),
            ('"' | '\'', None) => quote = Some(c),
            (' ', None) => words.extend(Some(std::mem::take(&mut word)).filter(|w| !w.is_empty())),
            (_, None) => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// Returns the request of a `curl` command.
fn request(command: &[String], token: &str) -> TestRequest {
    let [curl, url, options @ ..] = command else { panic!("{command:?}") };
    assert_eq!(curl, "curl");
    let path = url.strip_prefix("$BASE/").expect("a path below the base URL");
    options.chunks(2).fold(TestRequest::to(path).body(""), |request, option| match option {
        [flag, header] if flag == "-H" => match header.split_once(": ").expect("a header") {
            ("Content-Type", value) => request.header("content-type", value),
            ("third-api-token", value) => request.token(value.replace("$TOKEN", token)),
            _ => panic!("{header}"),
        },
        [flag, body] if flag == "-d" => request.body(body.as_str()),
        [flag, method] if flag == "-X" => request.method(method.parse().unwrap()),
        _ => panic!("{option:?}"),
    })
}

/// Asserts that two values have the same fields, in the same order, and values of the same types.
/// Each element of a list has the shape of the example's first one.
fn assert_same_shape(answer: &Value, example: &Value, place: &str) {
    match (answer, example) {
        (Value::Object(fields), Value::Object(wanted)) => {
            let names = fields.keys().collect::<Vec<_>>();
            assert_eq!(names, wanted.keys().collect::<Vec<_>>(), "{place}");
            for (name, value) in fields {
                assert_same_shape(value, &wanted[name], &format!("{place}.{name}"));
            }
        }
        (Value::Array(items), Value::Array(wanted)) => {
            assert_eq!(items.is_empty(), wanted.is_empty(), "{place}");
            for item in items {
                assert_same_shape(item, &wanted[0], &format!("{place}[]"));
            }
        }
        (Value::Number(one), Value::Number(other)) => {
            assert_eq!(one.is_i64(), other.is_i64(), "{place}: {one}, {other}");
        }
        _ => {
            let (one, other) = (std::mem::discriminant(answer), std::mem::discriminant(example));
            assert_eq!(one, other, "{place}: {answer}, {example}");
        }
    }
}

/// VER-2: the page describes the interface that is served. A refusal is exactly the one shown.
#[tokio::test]
async fn the_examples_of_the_page_are_answered_as_it_shows() {
    let server = open().await;
    let (mut token, mut commands, mut compared) = (String::new(), Vec::new(), 0);
    for block in blocks() {
        let examples = match block {
            Block::Requests(of_block) => {
                commands.extend(of_block);
                continue;
            }
            Block::Answers(examples) => examples,
        };
        assert_eq!(commands.len(), examples.len(), "requests and answers: {commands:?}");
        for (command, example) in commands.drain(..).zip(examples) {
            let reply = request(&command, &token).send(&server).await;
            if let Some(new) = reply.data()["accessToken"].as_str() {
                token = new.to_owned();
            }
            assert_eq!(example["code"], reply.code(), "{command:?}: {reply:?}");
            assert_same_shape(&reply.json, &example, &format!("{command:?}"));
            if reply.code() != 200 {
                assert_eq!(reply.json, example, "{command:?}");
            }
            compared += 1;
        }
    }
    assert_eq!(commands, Vec::<Vec<String>>::new(), "requests without an answer");
    assert!(compared >= 7, "{compared}");
}
