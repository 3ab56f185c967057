//! The checks that every page passes.

use std::fmt::Write as _;

use serde_json::Value;

use super::{CHINESE, Console};

/// Returns the problems of the shown page that its document shows, a text for each.
const FAILURES: &str = r#"
const failures = [];
const check = (holds, text) => { if (!holds) failures.push(text); };
const root = document.documentElement;
const headings = document.querySelectorAll("h1").length;
check(headings === 1, `${headings} h1`);
check(/\S+ · \S+/.test(document.title), `title "${document.title}"`);
check(root.lang === arguments[0], `lang "${root.lang}"`);
const beyond = root.scrollWidth - root.clientWidth;
const widest = () => [...document.body.querySelectorAll("*")]
  .filter((part) => part.getBoundingClientRect().right > root.clientWidth)
  .filter((part) => !part.closest(".scroll"))
  .map((part) => `${part.localName}.${part.className}`).slice(0, 3).join(" ");
check(beyond <= 0, `scrolls by ${beyond} px: ${beyond > 0 ? widest() : ""}`);
check(document.styleSheets.length === 1, "no style sheet");
const low = [...document.querySelectorAll("textarea")].some((area) => area.clientHeight < 80);
check(!low, "a text area for a single line");
const ids = [...document.querySelectorAll("[id]")].map((part) => part.id);
const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
check(twice.length === 0, `ids that are used twice: ${twice}`);
return failures;
"#;

/// Runs axe-core. Returns its violations, a text for each.
const AXE: &str = r##"
return axe.run().then(({ violations }) => violations.map(({ id, help, nodes }) =>
  `axe ${id}: ${help}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.html.slice(0, 90)} `
    + (node.any[0]?.message ?? "")).join(" | ")}`));
"##;

impl Console {
    /// Opens a page that answers with a status, and appends its problems, each with `place`.
    pub(super) fn check_page(
        &mut self,
        path: &str,
        status: u64,
        place: &str,
        failures: &mut String,
    ) {
        self.open(path);
        let mut found = self.network_failures(path, status);
        found.extend(self.document_failures(place));
        for failure in found {
            writeln!(failures, "{path} ({place}): {failure}").unwrap();
        }
    }

    /// Returns the problems of the document. It is in English, unless `place` names the language.
    fn document_failures(&mut self, place: &str) -> Vec<String> {
        let language = if place.contains(CHINESE) { CHINESE } else { "en" };
        let script = FAILURES.replace("arguments[0]", &format!("{language:?}"));
        texts(&self.browser.run(&script))
    }

    /// Returns the messages of the console, which include violations of the policy, requests to
    /// other hosts, and another status than the expected one.
    fn network_failures(&mut self, path: &str, status: u64) -> Vec<String> {
        let (base, url) = (self.url("/"), self.url(path));
        let is_expected = |message: &Value| {
            let text = message["message"].as_str().unwrap();
            status != 200 && text.starts_with(&url) && text.contains(&format!(" {status} "))
        };
        let messages = self.browser.messages();
        let messages = messages.into_iter().filter(|message| !is_expected(message));
        let mut failures: Vec<String> =
            messages.map(|message| format!("console: {}", message["message"])).collect();
        let mut shown = None;
        for event in self.browser.events() {
            let params = &event["params"];
            match event["method"].as_str().unwrap() {
                "Network.requestWillBeSent" => {
                    let asked = params["request"]["url"].as_str().unwrap();
                    // The browser's own pictures, such as the icon of a date field, are data, and
                    // its first tab may still load its own page.
                    let is_of_browser = asked.starts_with("data:") || asked.starts_with("chrome:");
                    if !asked.starts_with(&base) && !is_of_browser {
                        failures.push(format!("request to {asked}"));
                    }
                }
                "Network.responseReceived" if params["type"] == "Document" => {
                    shown = params["response"]["status"].as_u64();
                }
                _ => {}
            }
        }
        if shown != Some(status) {
            failures.push(format!("status {shown:?}"));
        }
        failures
    }

    /// Appends the violations that axe-core finds in the shown page.
    pub(super) fn check_with_axe(&mut self, axe: &str, place: &str, failures: &mut String) {
        self.browser.inject(axe);
        for violation in texts(&self.browser.run(AXE)) {
            writeln!(failures, "{place}: {violation}").unwrap();
        }
    }
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap().iter();
    list.map(|text| text.as_str().unwrap().to_owned()).collect()
}
