//! Devices.

use serde_json::json;

use super::rule;
use crate::answer::{Type, has_fields, met};
use crate::paths::DEVICES;
use crate::rule::Rule;

pub(super) const RULES: &[Rule] = &[
    rule!(
        "devices.code",
        "DEV-1",
        Contract,
        "List devices answers with devices, each with its deviceCode.",
        |facts| facts.devices.first().map(|_| facts.list_devices()),
        |_, answer| {
            let records = answer.records()?;
            met!(!records.is_empty(), || "the devices of the group".to_owned())?;
            records.iter().try_for_each(|device| has_fields(device, &[("deviceCode", Type::Text)]))
        },
    ),
    rule!(
        "devices.fields",
        "DEV-2",
        Kiosque,
        "A device record has all of its fields.",
        |facts| facts.devices.first().map(|_| facts.list_devices()),
        |_, answer| {
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
        },
    ),
    rule!(
        "devices.order",
        "DEV-3",
        Kiosque,
        "Devices are sorted by deviceCode.",
        |facts| (facts.devices.len() > 1).then(|| facts.list_devices().query(facts.devices_query)),
        |_, answer| {
            let codes = answer.records()?.iter().map(|device| device["deviceCode"].as_str());
            met!(codes.is_sorted(), || "records sorted by deviceCode".to_owned())
        },
    ),
    rule!(
        "devices.filters",
        "DEV-4",
        Kiosque,
        "A deviceCode filter selects the device with exactly this code.",
        |facts| {
            let body = json!({"deviceCode": facts.devices.first()?["deviceCode"]});
            Some(facts.call_with(DEVICES, &body))
        },
        |facts, answer| {
            let wanted = facts.devices.first().map(|device| &device["deviceCode"]);
            let own = answer.records()?.first().map(|device| &device["deviceCode"]);
            met!(own == wanted && answer.records()?.len() == 1, || {
                "one record, that device".to_owned()
            })
        },
    ),
];
