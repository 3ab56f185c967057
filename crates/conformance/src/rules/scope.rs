//! Groups and the permission scope.

use std::sync::LazyLock;

use kiosque_locale::Message;
use serde_json::{Value, json};

use crate::answer::{Answer, Expected, met};
use crate::facts::{Facts, UNKNOWN};
use crate::paths::{DEVICES, ONLINE, SUMMARY};
use crate::rule::Mark::{Contract, Kiosque};
use crate::rule::{Rule, rule};

pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    vec![
        rule("scope.selected-group", "SCOPE-1", Contract)
            .text(
                "Business calls answer for the selected group: a device that it never had \
                 has no orders.",
            )
            .ask(|facts| Some(facts.list_orders(facts.other_device.as_deref()?)))
            .expect(|_, answer| answer.outcome(200, -1)),
        rule("scope.switched", "SCOPE-1", Contract)
            .text("After a switch, List devices lists the devices of the new group.")
            .changes_session()
            .ask(|facts| {
                facts.other_device.as_ref()?;
                Some(facts.switch(facts.other_group.as_deref()?))
            })
            .expect(|_, answer| answer.success().map(drop))
            .ask(|facts| Some(facts.list_devices()))
            .expect(|facts, answer| {
                let unseen = facts.other_device_count.saturating_sub(facts.other_devices.len());
                let expected = "the devices that were listed for this group before";
                lists(answer, |it| facts.is_other(it), unseen, |it| facts.is_own(it), expected)
            }),
        rule("scope.online-devices", "SCOPE-1", Kiosque)
            .text("Online devices lists no device of another group.")
            .ask(|facts| facts.other_device.as_deref().map(|_| facts.call(ONLINE, "")))
            .expect(|facts, answer| {
                answer.success()?;
                let foreign = facts.other_device.as_deref().unwrap_or_default();
                let is_met = answer.listed("list").iter().all(|it| it["deviceCode"] != foreign);
                met!(is_met, "no device {foreign:?}, which another group owns")
            }),
        rule("scope.group-filter", "SCOPE-2", Contract)
            .text("List devices takes a groupId, answers for that group, and does not select it.")
            .ask(|facts| {
                let group = facts.other_group.as_ref().filter(|_| !facts.other_devices.is_empty());
                Some(facts.call_with(DEVICES, &json!({"groupId": group?})))
            })
            .expect(|facts, answer| {
                let is_own = |device: &Value| {
                    device["deviceCode"].as_str().is_none_or(|code| facts.has_device(code))
                };
                // A group may have a part of the devices of another.
                let is_same = answer.records()?.iter().all(is_own)
                    && answer.data()["total"] == facts.device_count;
                met!(!is_same, "devices that are not those of the selected group")
            })
            .ask(|facts| Some(facts.list_devices()))
            .expect(of_default_group),
        rule("scope.foreign-group", "SCOPE-3", Contract)
            .text("A groupId filter with an unknown group is answered with -1.")
            .ask(|facts| Some(facts.call_with(DEVICES, &json!({"groupId": UNKNOWN}))))
            .expect(|_, answer| refused_group(answer)),
        rule("scope.filters", "SCOPE-3", Kiosque)
            .text(
                "Filters of devices and summaries outside the scope have the message of the \
                 scope.",
            )
            .ask(|facts| Some(facts.call_with(DEVICES, &json!({"groupId": UNKNOWN}))))
            .ask(|facts| Some(facts.call_with(SUMMARY, &json!({"groupId": UNKNOWN}))))
            .ask(|facts| Some(facts.call_with(SUMMARY, &json!({"deviceCodes": [UNKNOWN]}))))
            .expect(|_, answer| answer.refused(Message::OutOfScope)),
        rule("scope.unknown-device", "SCOPE-4", Contract)
            .text("A device that is not in the scope is answered with -1.")
            .ask(|facts| Some(facts.list_orders(UNKNOWN)))
            .expect(|_, answer| answer.refused(Message::OutOfScope)),
        rule("scope.foreign-device", "SCOPE-4", Kiosque)
            .text("A device of another group and one that does not exist have the same answer.")
            .ask(|facts| Some(facts.list_orders(facts.other_device.as_deref()?)))
            .expect(|_, answer| answer.refusal())
            .ask(|facts| Some(facts.list_orders(UNKNOWN)))
            .expect(|facts, answer| answer.same_as(facts.before.as_ref())),
    ]
});

/// Expects a page with the devices of the default group.
pub(super) fn of_default_group(facts: &Facts, answer: &Answer) -> Expected {
    let expected = "the devices of the default group";
    if facts.device_count == 0 {
        return met!(answer.records()?.is_empty(), "{expected}");
    }
    let unseen = facts.device_count.saturating_sub(facts.devices.len());
    lists(answer, |it| facts.is_own(it), unseen, |it| facts.is_other(it), expected)
}

/// Expects a page with a device that the survey has seen in one group. If the group has devices
/// that the survey has not seen, the page may be of those alone, since servers may sort devices in
/// any order; it then has none of another group.
fn lists(
    answer: &Answer,
    is_of_one: impl Fn(&Value) -> bool,
    unseen: usize,
    is_of_another: impl Fn(&Value) -> bool,
    expected: &str,
) -> Expected {
    let records = answer.records()?;
    let may_be_unseen = unseen > 0 && !records.is_empty() && !records.iter().any(is_of_another);
    met!(records.iter().any(is_of_one) || may_be_unseen, "{expected}")
}

/// Expects a group in a filter to be refused. The contract has two messages that apply to a
/// nonexistent group.
pub(super) fn refused_group(answer: &Answer) -> Expected {
    let not_closed = |_| answer.refused(Message::OutOfScope);
    answer.refused(Message::GroupClosed).or_else(not_closed)
}
