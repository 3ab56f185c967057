//! Groups and the permission scope.

use kiosque_locale::Message;
use serde_json::{Value, json};

use super::rule;
use crate::answer::met;
use crate::facts::UNKNOWN;
use crate::paths::{DEVICES, ONLINE, ORDERS, SUMMARY};
use crate::rule::Rule;

pub(super) const RULES: &[Rule] = &[
    rule!(
        "scope.selected-group",
        "SCOPE-1",
        Contract,
        Reads,
        "Business calls answer for the selected group: a device of another one is not listed.",
        |facts| facts.other_device().map(|_| facts.call(ONLINE, "")),
        |facts, answer| {
            answer.success()?;
            let foreign = facts.other_device().unwrap_or_default();
            let is_met = answer.listed("list").iter().all(|it| it["deviceCode"] != foreign);
            met!(is_met, || format!("no device {foreign:?}, which another group owns"))
        },
    ),
    rule!(
        "scope.group-filter",
        "SCOPE-2",
        Contract,
        Reads,
        "List devices takes a groupId and answers for that group.",
        |facts| {
            let group = facts.other_group.as_ref().filter(|_| !facts.other_devices.is_empty());
            Some(facts.call_with(DEVICES, &json!({"groupId": group?})))
        },
        |facts, answer| {
            let is_own = |device: &Value| {
                device["deviceCode"].as_str().is_none_or(|code| facts.has_device(code))
            };
            met!(!answer.records()?.iter().all(is_own), || {
                "devices that are not those of the selected group".to_owned()
            })
        },
    ),
    rule!(
        "scope.foreign-group",
        "SCOPE-3",
        Contract,
        Reads,
        "A groupId filter with an unknown group is answered with -1.",
        |facts| Some(facts.call_with(DEVICES, &json!({"groupId": UNKNOWN}))),
        |_, answer| answer.refused(Message::OutOfScope),
        |facts| Some(facts.call_with(SUMMARY, &json!({"groupId": UNKNOWN}))),
        |_, answer| answer.refused(Message::OutOfScope),
    ),
    rule!(
        "scope.unknown-device",
        "SCOPE-4",
        Contract,
        Reads,
        "A device that is not in the scope is answered with -1.",
        |facts| Some(facts.call_with(ORDERS, &json!({"deviceCode": UNKNOWN}))),
        |_, answer| answer.refused(Message::OutOfScope),
        |facts| Some(facts.call_with(SUMMARY, &json!({"deviceCodes": [UNKNOWN]}))),
        |_, answer| answer.refused(Message::OutOfScope),
    ),
    rule!(
        "scope.foreign-device",
        "SCOPE-4",
        Kiosque,
        Reads,
        "A device of another group and one that does not exist have the same answer.",
        |facts| { Some(facts.call_with(ORDERS, &json!({"deviceCode": facts.other_device()?}))) },
        |_, answer| answer.refusal(),
        |facts| Some(facts.call_with(ORDERS, &json!({"deviceCode": UNKNOWN}))),
        |facts, answer| answer.same_as(facts.before.as_ref()),
    ),
];
