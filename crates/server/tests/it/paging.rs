//! PAGE-7: a client that increments `current` until a page is empty receives every record exactly
//! once.

mod devices;
mod orders;

use kiosque_testkit::{FleetToml, TestServer};
use serde_json::{Value, json};

use crate::scope::Worker;

/// A page of an answer, each record represented by one field.
#[derive(Debug, PartialEq)]
struct Page {
    total: i64,
    rows: Vec<String>,
}

/// Reads all pages of one path with one body.
struct PageReader {
    worker: Worker,
    path: &'static str,
    /// The field that identifies a record.
    key: &'static str,
}

impl PageReader {
    async fn new(server: &TestServer, path: &'static str, key: &'static str) -> PageReader {
        PageReader { worker: Worker::of(server, "ops").await, path, key }
    }

    /// Reads a page; `current` and `size` are written into the query string as given.
    async fn page(&mut self, body: &Value, current: &str, size: &str) -> Page {
        let path = format!("{}?current={current}&size={size}", self.path);
        let reply = self.worker.ask(&path, body).await;
        assert_eq!(reply.code(), 200, "{path} {body}: {reply:?}");
        let data = reply.data();
        assert_eq!((&data["current"], &data["size"]), (&number(current), &number(size)));
        let records = data["records"].as_array().unwrap();
        let rows = records.iter().map(|row| row[self.key].as_str().unwrap().to_owned()).collect();
        Page { total: data["total"].as_i64().unwrap(), rows }
    }

    /// Returns the `code` of the first page's answer.
    async fn code_of(&mut self, body: &Value) -> i64 {
        self.worker.ask(self.path, body).await.code()
    }

    /// Reads page after page until one is empty. Each but the last is full, and all have the same
    /// total.
    async fn read(&mut self, body: &Value, size: usize) -> Vec<String> {
        let (size_text, mut all, mut current) = (size.to_string(), Vec::new(), 1);
        loop {
            let page = self.page(body, &current.to_string(), &size_text).await;
            let left = usize::try_from(page.total).unwrap() - all.len();
            assert_eq!(page.rows.len(), left.min(size), "page {current} of {size}: {page:?}");
            if page.rows.is_empty() {
                return all;
            }
            all.extend(page.rows);
            current += 1;
        }
    }

    /// PAGE-6: pages far past the end, up to the largest numbers, have the true total and no
    /// records.
    async fn check_past_the_end(&mut self, body: &Value, total: usize) {
        let nothing = Page { total: i64::try_from(total).unwrap(), rows: Vec::new() };
        let beyond = (total + 1).to_string();
        for (current, size) in [
            (beyond.as_str(), "1"),
            (beyond.as_str(), "1000"),
            ("4294967297", "1000"),
            ("9007199254740993", "1"),
            ("9223372036854775", "1000"),
            ("9223372036854776", "1000"),
            ("9223372036854775807", "1"),
            ("9223372036854775807", "2"),
            ("9223372036854775807", "1000"),
        ] {
            assert_eq!(self.page(body, current, size).await, nothing, "{current} of {size}");
        }
    }
}

fn number(text: &str) -> Value {
    json!(text.parse::<i64>().unwrap())
}

/// A server with a group and an account; tests add devices as they need them.
async fn server() -> TestServer {
    let fleet = FleetToml::new().group("g", "G").group("other", "Other");
    TestServer::start(fleet.cheap_account("ops", &["g"])).await
}
