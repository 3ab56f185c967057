//! Devices.

use std::sync::LazyLock;

use kiosque_locale::{Locale, Message};
use serde_json::json;

use crate::answer::{Answer, Expected, Type, has_fields, met};
use crate::ask::Ask;
use crate::facts::{Facts, UNKNOWN};
use crate::paths::DEVICES;
use crate::rule::Mark::{Contract, Kiosque};
use crate::rule::{Rule, rule};

pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    vec![
        rule("devices.code", "DEV-1", Contract)
            .text("List devices answers with devices, each with its deviceCode.")
            .ask(|facts| facts.devices.first().map(|_| facts.list_devices()))
            .expect(|_, answer| {
                let records = answer.records()?;
                met!(!records.is_empty(), "the devices of the group")?;
                records
                    .iter()
                    .try_for_each(|device| has_fields(device, &[("deviceCode", Type::Text)]))
            }),
        rule("devices.fields", "DEV-2", Kiosque)
            .text("A device record has all of its fields.")
            .ask(|facts| facts.devices.first().map(|_| facts.list_devices()))
            .expect(|_, answer| {
                let fields = [
                    ("deviceCode", Type::Text),
                    ("deviceName", Type::Text),
                    ("groupId", Type::Text),
                    ("groupName", Type::Text),
                    ("deviceModel", Type::Text),
                    ("address", Type::Text),
                    ("isOnline", Type::Integer),
                    ("totalCurrStock", Type::Integer),
                    ("lastActiveTimestamp", Type::IntegerOrNull),
                    ("createTimestamp", Type::Integer),
                ];
                answer.records()?.iter().try_for_each(|device| has_fields(device, &fields))
            }),
        rule("devices.order", "DEV-3", Kiosque)
            .text("Devices are sorted by deviceCode.")
            .ask(|facts| {
                let page = facts.list_devices().query(facts.devices_query);
                (facts.devices.len() > 1).then_some(page)
            })
            .expect(|_, answer| {
                let codes = answer.records()?.iter().map(|device| device["deviceCode"].as_str());
                met!(codes.is_sorted(), "records sorted by deviceCode")
            }),
        rule("devices.filters", "DEV-4", Kiosque)
            .text("A deviceCode filter selects the device with exactly this code.")
            .ask(|facts| {
                let body = json!({"deviceCode": facts.devices.first()?["deviceCode"]});
                Some(facts.call_with(DEVICES, &body))
            })
            .expect(|facts, answer| {
                let wanted = facts.devices.first().map(|device| &device["deviceCode"]);
                let own = answer.records()?.first().map(|device| &device["deviceCode"]);
                met!(own == wanted && answer.records()?.len() == 1, "one record, that device")
            }),
        rule("devices.outside-scope", "DEV-5", Kiosque)
            .text("A deviceCode filter with a device outside the scope is refused.")
            .ask(|facts| Some(by_code(facts, UNKNOWN)))
            // Codes are compared exactly (REQ-12).
            .ask(|facts| Some(by_code(facts, " ")))
            .ask(|facts| Some(by_code(facts, &format!("{}\0", first_code(facts)?))))
            .expect(|_, answer| outside(answer))
            .ask(|facts| Some(by_code(facts, facts.other_device.as_deref()?)))
            .ask(|facts| {
                let body =
                    json!({"groupId": facts.group(), "deviceCode": facts.other_device.as_deref()?});
                Some(facts.call_with(DEVICES, &body))
            })
            .ask(|facts| {
                let body = json!({"deviceCode": facts.other_device.as_deref()?, "isOnline": 1});
                Some(facts.call_with(DEVICES, &body))
            })
            .ask(|facts| {
                let code = first_code(facts)?;
                let beginning = code.get(..code.char_indices().next_back()?.0)?;
                let is_none = !beginning.is_empty() && !facts.has_device(beginning);
                is_none.then(|| by_code(facts, beginning))
            })
            .expect(|_, answer| outside_or_empty(answer)),
    ]
});

fn by_code(facts: &Facts, code: &str) -> Ask {
    facts.call_with(DEVICES, &json!({"deviceCode": code}))
}

fn first_code(facts: &Facts) -> Option<&str> {
    facts.devices.first()?["deviceCode"].as_str()
}

/// Expects the message of the permission scope, in `data` as well.
fn outside(answer: &Answer) -> Expected {
    answer.refused(Message::OutOfScope)?;
    let text = Message::OutOfScope.text(Locale::En);
    met!(*answer.data() == text, "data {text:?}")
}

/// Expects the same, or an empty page: a device that the group owned once, or that is disabled, is
/// in its scope.
fn outside_or_empty(answer: &Answer) -> Expected {
    if answer.records().is_ok_and(Vec::is_empty) {
        return Ok(());
    }
    outside(answer)
}
