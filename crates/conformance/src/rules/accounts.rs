//! Two accounts: their sessions are independent, and neither can see data of the other.

use std::sync::LazyLock;

use kiosque_locale::Message;
use serde_json::json;

use super::scope::refused_group;
use crate::answer::met;
use crate::facts::Facts;
use crate::paths::{DETAIL, DEVICES, LOGOUT, SUMMARY};
use crate::rule::Mark::{Contract, Kiosque};
use crate::rule::{Mark, Needs, Rule};

pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    vec![
        rule("accounts.log-in", "AUTH-12", Contract)
            .text("A login of one account leaves the session of another.")
            .changes_session()
            .ask(|facts| Some(facts.second.as_ref()?.log_in()))
            .ask(|facts| Some(facts.list_devices()))
            .ask(|facts| Some(facts.log_in()))
            .ask(|facts| Some(facts.second.as_ref()?.call(DEVICES, "{}")))
            .expect(|_, answer| answer.success().map(drop)),
        rule("accounts.log-out", "AUTH-12", Contract)
            .text("A log out of one account leaves the session of another.")
            .changes_session()
            .ask(|facts| Some(facts.second.as_ref()?.call(LOGOUT, "")))
            .ask(|facts| Some(facts.list_devices()))
            .expect(|_, answer| answer.success().map(drop)),
        rule("accounts.switch", "AUTH-19", Contract)
            .text(
                "A switch to a group of another account is answered with -1, and the \
                 session stays.",
            )
            .changes_session()
            .ask(|facts| Some(facts.switch(foreign_group(facts)?)))
            .expect(|_, answer| answer.refused(Message::GroupClosed))
            .ask(|facts| Some(facts.list_devices()))
            .expect(|_, answer| answer.success().map(drop)),
        rule("accounts.devices", "SCOPE-1", Contract)
            .text(
                "List devices answers each of two sessions with the devices of its own \
                 account.",
            )
            .ask(|facts| {
                let second = facts.second.as_ref()?;
                let group = foreign_group(facts)?;
                foreign_device(facts)?;
                let body = json!({"groupId": group}).to_string();
                Some(second.call(DEVICES, &body).query(facts.devices_query))
            })
            .expect(|facts, answer| {
                let is_met =
                    answer.records()?.iter().any(|it| is_foreign(facts, &it["deviceCode"]));
                met!(is_met, "the device of the other account, whose token was sent")
            })
            .ask(|facts| Some(facts.list_devices().query(facts.devices_query)))
            .expect(|facts, answer| {
                let is_met =
                    !answer.records()?.iter().any(|it| is_foreign(facts, &it["deviceCode"]));
                met!(is_met, "no device {:?}", foreign_device(facts).unwrap_or_default())
            }),
        rule("accounts.group-filter", "SCOPE-3", Contract)
            .text("A groupId filter with a group of another account is answered with -1.")
            .ask(|facts| Some(facts.call_with(DEVICES, &json!({"groupId": foreign_group(facts)?}))))
            .expect(|_, answer| refused_group(answer)),
        rule("accounts.filters", "SCOPE-3", Kiosque)
            .text("Filters of a summary do not reach the data of another account.")
            .ask(|facts| Some(facts.call_with(SUMMARY, &json!({"groupId": foreign_group(facts)?}))))
            .ask(|facts| {
                Some(facts.call_with(SUMMARY, &json!({"deviceCodes": [foreign_device(facts)?]})))
            })
            .expect(|_, answer| answer.refused(Message::OutOfScope)),
        rule("accounts.device-filter", "SCOPE-4", Contract)
            .text("A device of another account is answered with -1.")
            .ask(|facts| Some(facts.list_orders(foreign_device(facts)?)))
            .expect(|_, answer| answer.refused(Message::OutOfScope)),
        rule("accounts.order", "ORD-20", Contract)
            .text("The trade number of an order of another account is answered with -1.")
            .ask(|facts| {
                let number = facts.second.as_ref()?.trade_number()?;
                Some(facts.call_with(DETAIL, &json!({"tradeNoOut": number})))
            })
            .expect(|_, answer| answer.outcome(200, -1)),
    ]
});

fn rule(id: &'static str, number: &'static str, mark: Mark) -> Rule {
    crate::rule::rule(id, number, mark).needs(Needs::SecondAccount)
}

fn foreign_group(facts: &Facts) -> Option<&str> {
    let group = facts.second.as_ref()?.default_group.as_str();
    (!group.is_empty()).then_some(group)
}

fn foreign_device(facts: &Facts) -> Option<&str> {
    let mut devices = facts.second.as_ref()?.devices.iter();
    devices.find_map(|device| device["deviceCode"].as_str())
}

fn is_foreign(facts: &Facts, code: &serde_json::Value) -> bool {
    foreign_device(facts).is_some_and(|foreign| code == foreign)
}
