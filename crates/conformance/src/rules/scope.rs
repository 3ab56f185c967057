//! Groups and the permission scope.

use kiosque_locale::Message;
use serde_json::json;

use super::rule;
use crate::answer::met;
use crate::paths::{DEVICES, ONLINE, ORDERS, SUMMARY};
use crate::rule::Rule;

pub(super) const RULES: &[Rule] = &[
    rule!(
        "scope.selected-group",
        "SCOPE-1",
        Contract,
        Reads,
        "Business calls answer for the selected group: a device of another one is not listed.",
        |facts| facts.other_device.as_ref().map(|_| facts.call(ONLINE, "")),
        |facts, answer| {
            let foreign = facts.other_device.as_deref().unwrap_or_default();
            let list = answer.success()?["list"].as_array().cloned().unwrap_or_default();
            let is_met = list.iter().all(|device| device["deviceCode"] != foreign);
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
            let group = json!({"groupId": facts.other_group.as_ref()?});
            facts.other_device.as_ref().map(|_| facts.call(DEVICES, &group.to_string()))
        },
        |facts, answer| {
            let wanted = facts.other_device.as_deref().unwrap_or_default();
            let is_met = answer.records()?.iter().any(|device| device["deviceCode"] == wanted);
            met!(is_met, || format!("the device {wanted:?} of the group"))
        },
    ),
    rule!(
        "scope.foreign-group",
        "SCOPE-3",
        Contract,
        Reads,
        "A groupId filter with an unknown group is answered with -1.",
        |facts| Some(facts.call(DEVICES, "{\"groupId\":\"no-such-kiosque-check\"}")),
        |_, answer| answer.refused(Message::OutOfScope),
        |facts| Some(facts.call(SUMMARY, "{\"groupId\":\"no-such-kiosque-check\"}")),
        |_, answer| answer.refused(Message::OutOfScope),
    ),
    rule!(
        "scope.unknown-device",
        "SCOPE-4",
        Contract,
        Reads,
        "A device that is not in the scope is answered with -1.",
        |facts| Some(facts.call(ORDERS, "{\"deviceCode\":\"no-such-kiosque-check\"}")),
        |_, answer| answer.refused(Message::OutOfScope),
        |facts| Some(facts.call(SUMMARY, "{\"deviceCodes\":[\"no-such-kiosque-check\"]}")),
        |_, answer| answer.refused(Message::OutOfScope),
    ),
    rule!(
        "scope.foreign-device",
        "SCOPE-4",
        Kiosque,
        Reads,
        "A device of another group and one that does not exist have the same answer.",
        |facts| {
            let body = json!({"deviceCode": facts.other_device.as_ref()?});
            Some(facts.call(ORDERS, &body.to_string()))
        },
        |_, answer| answer.refused(Message::OutOfScope),
        |facts| Some(facts.call(ORDERS, "{\"deviceCode\":\"no-such-kiosque-check\"}")),
        |facts, answer| {
            let before = facts.before.as_ref().map(|before| before.body.as_str());
            met!(before == Some(answer.body.as_str()), || "the same bytes for both".to_owned())
        },
    ),
];
