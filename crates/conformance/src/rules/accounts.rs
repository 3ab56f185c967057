//! Two accounts: their sessions are independent, and neither can see data of the other.

use kiosque_locale::Message;
use serde_json::json;

use super::rule;
use super::scope::refused_group;
use crate::answer::met;
use crate::facts::Facts;
use crate::paths::{DETAIL, DEVICES, LOGOUT, ORDERS, SUMMARY};
use crate::rule::{Needs, Rule};

pub(super) const RULES: &[Rule] = &[
    rule!(
        "accounts.log-in",
        "AUTH-12",
        Contract,
        ChangesSession,
        "A login of one account leaves the session of another.",
        |facts| Some(facts.second.as_ref()?.log_in()),
        |_, answer| answer.success().map(drop),
        |facts| Some(facts.list_devices()),
        |_, answer| answer.success().map(drop),
        |facts| Some(facts.log_in()),
        |_, answer| answer.success().map(drop),
        |facts| Some(facts.second.as_ref()?.call(DEVICES, "{}")),
        |_, answer| answer.success().map(drop),
    )
    .needing(Needs::SecondAccount),
    rule!(
        "accounts.log-out",
        "AUTH-12",
        Contract,
        ChangesSession,
        "A log out of one account leaves the session of another.",
        |facts| Some(facts.second.as_ref()?.call(LOGOUT, "")),
        |_, answer| answer.success().map(drop),
        |facts| Some(facts.list_devices()),
        |_, answer| answer.success().map(drop),
    )
    .needing(Needs::SecondAccount),
    rule!(
        "accounts.switch",
        "AUTH-19",
        Contract,
        ChangesSession,
        "A switch to a group of another account is answered with -1, and the session stays.",
        |facts| Some(facts.switch(foreign_group(facts)?)),
        |_, answer| answer.refused(Message::GroupClosed),
        |facts| Some(facts.list_devices()),
        |_, answer| answer.success().map(drop),
    )
    .needing(Needs::SecondAccount),
    rule!(
        "accounts.devices",
        "SCOPE-1",
        Contract,
        "List devices answers each of two sessions with the devices of its own account.",
        |facts| {
            let (second, group) = (facts.second.as_ref()?, foreign_group(facts)?);
            foreign_device(facts)?;
            let body = json!({"groupId": group}).to_string();
            Some(second.call(DEVICES, &body).query(facts.devices_query))
        },
        |facts, answer| {
            let is_met = answer.records()?.iter().any(|it| is_foreign(facts, &it["deviceCode"]));
            met!(is_met, || "the device of the other account, whose token was sent".to_owned())
        },
        |facts| Some(facts.list_devices().query(facts.devices_query)),
        |facts, answer| {
            let is_met = !answer.records()?.iter().any(|it| is_foreign(facts, &it["deviceCode"]));
            met!(is_met, || format!("no device {:?}", foreign_device(facts).unwrap_or_default()))
        },
    )
    .needing(Needs::SecondAccount),
    rule!(
        "accounts.group-filter",
        "SCOPE-3",
        Contract,
        "A groupId filter with a group of another account is answered with -1.",
        |facts| Some(facts.call_with(DEVICES, &json!({"groupId": foreign_group(facts)?}))),
        |_, answer| refused_group(answer),
    )
    .needing(Needs::SecondAccount),
    rule!(
        "accounts.filters",
        "SCOPE-3",
        Kiosque,
        "Filters of a summary do not reach the data of another account.",
        |facts| Some(facts.call_with(SUMMARY, &json!({"groupId": foreign_group(facts)?}))),
        |_, answer| answer.refused(Message::OutOfScope),
        |facts| Some(facts.call_with(SUMMARY, &json!({"deviceCodes": [foreign_device(facts)?]}))),
        |_, answer| answer.refused(Message::OutOfScope),
    )
    .needing(Needs::SecondAccount),
    rule!(
        "accounts.device-filter",
        "SCOPE-4",
        Contract,
        "A device of another account is answered with -1.",
        |facts| Some(facts.call_with(ORDERS, &json!({"deviceCode": foreign_device(facts)?}))),
        |_, answer| answer.refused(Message::OutOfScope),
    )
    .needing(Needs::SecondAccount),
    rule!(
        "accounts.order",
        "ORD-20",
        Contract,
        "The trade number of an order of another account is answered with -1.",
        |facts| {
            let number = facts.second.as_ref()?.trade_number()?;
            Some(facts.call_with(DETAIL, &json!({"tradeNoOut": number})))
        },
        |_, answer| answer.outcome(200, -1),
    )
    .needing(Needs::SecondAccount),
];

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
