//! Reports: for people, as JSON, and as JUnit XML.

use std::fmt::Write as _;

use serde_json::Value;

use crate::checker::{Checked, Outcome};
use crate::rule::Rule;
use crate::secrets::STARS;

/// Returns a line for each rule: its number, its id, its mark and its text.
pub fn list(rules: impl Iterator<Item = &'static Rule>) -> String {
    rules.fold(String::new(), |mut text, rule| {
        let Rule { number, id, mark, text: says, .. } = rule;
        let _ = writeln!(text, "{number:9}{id:32}{:10}{says}", mark.name());
        text
    })
}

/// Returns a line for each rule with its outcome, the exchange of each broken one, and the counts.
pub fn text(checked: &[Checked]) -> String {
    let mut text = String::new();
    for Checked { rule, outcome } in checked {
        let Rule { number, id, text: says, .. } = rule;
        let reason = reason(outcome).map_or_else(String::new, |it| format!(" ({it})"));
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:11}{number:9}{id:32}{says}{reason}", word(outcome));
        if let Outcome::Broken(finding) = outcome {
            let sent = finding.sent.replace('\n', "\n             ");
            let _ = writeln!(text, "  sent       {sent}");
            let _ = writeln!(text, "  expected   {}", finding.expected);
            let _ = writeln!(text, "  came       {}", finding.came);
            let _ = writeln!(text, "  repeat     {}", finding.curl);
        }
    }
    if text.contains(STARS) {
        let _ =
            writeln!(text, "{STARS} replaces a password or a token: insert it to repeat a call");
    }
    let count = |wanted| checked.iter().filter(|it| word(&it.outcome) == wanted).count();
    let words = [MET, BROKEN, NOT_SHOWN, SKIPPED];
    let counts = words.map(|word| format!("{}: {}", word, count(word)));
    let _ = writeln!(text, "rules: {}; {}", checked.len(), counts.join(", "));
    text
}

const MET: &str = "ok";
const BROKEN: &str = "broken";
const NOT_SHOWN: &str = "not shown";
const SKIPPED: &str = "skipped";

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Met => MET,
        Outcome::Broken(_) => BROKEN,
        Outcome::NotShown(_) => NOT_SHOWN,
        Outcome::Skipped(_) => SKIPPED,
    }
}

/// Returns why a rule was not checked.
fn reason(outcome: &Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::NotShown(reason) | Outcome::Skipped(reason) => Some(reason),
        Outcome::Met | Outcome::Broken(_) => None,
    }
}

/// Returns a JSON array with an object for each rule. Fields that do not apply are null.
pub fn json(checked: &[Checked]) -> String {
    let entry = |Checked { rule, outcome }: &'_ Checked| {
        let finding = match outcome {
            Outcome::Broken(finding) => Some(&**finding),
            _ => None,
        };
        serde_json::json!({
            "id": rule.id,
            "rule": rule.number,
            "mark": rule.mark.name(),
            "text": rule.text,
            "outcome": word(outcome),
            "reason": reason(outcome),
            "sent": finding.map(|it| &it.sent),
            "expected": finding.map(|it| &it.expected),
            "came": finding.map(|it| &it.came),
            "curl": finding.map(|it| &it.curl),
        })
    };
    let entries: Value = checked.iter().map(entry).collect();
    format!("{entries:#}\n")
}

/// Returns a test suite in JUnit XML, with a test case for each rule.
pub fn junit(checked: &[Checked]) -> String {
    let is_broken = |it: &&Checked| matches!(it.outcome, Outcome::Broken(_));
    let is_skipped = |it: &&Checked| reason(&it.outcome).is_some();
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuite name=\"kiosque check\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
        checked.len(),
        checked.iter().filter(is_broken).count(),
        checked.iter().filter(is_skipped).count()
    );
    for Checked { rule, outcome } in checked {
        let name = escaped(&format!("{} {}", rule.number, rule.text));
        let _ = write!(xml, "  <testcase classname=\"{}\" name=\"{name}\">", rule.id);
        match outcome {
            Outcome::Met => {}
            Outcome::Broken(finding) => {
                let message = escaped(&format!("expected {}", finding.expected));
                let exchange =
                    escaped(&format!("{}\n\n{}\n\n{}", finding.sent, finding.came, finding.curl));
                let _ = write!(xml, "<failure message=\"{message}\">{exchange}</failure>");
            }
            Outcome::NotShown(reason) | Outcome::Skipped(reason) => {
                let message = escaped(&format!("{}: {reason}", word(outcome)));
                let _ = write!(xml, "<skipped message=\"{message}\"/>");
            }
        }
        xml.push_str("</testcase>\n");
    }
    xml.push_str("</testsuite>\n");
    xml
}

/// Returns a text escaped for XML. Characters that XML cannot represent are omitted.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() => {}
            c => escaped.push(c),
        }
    }
    escaped
}
