//! The details of an entry as fields.

use kiosque_contract::{Applied, AuditDetails, FleetCounts, ImportedGroup};
use kiosque_model::audit::{Act, AuditEvent, AuditRecord, CommandRun};
use kiosque_model::{ActedBy, UnixMs, Zone};

use crate::change_counts::ChangeCounts;

/// Returns the details of an act.
pub(crate) fn of_act(act: &Act, by: &ActedBy) -> AuditDetails {
    let details = of_run(by);
    match act.clone() {
        Act::KeyCreated { name, rights } => AuditDetails {
            key_name: Some(name.to_string()),
            rights: rights.iter().map(|right| right.name().to_owned()).collect(),
            ..details
        },
        Act::KeyRevoked { name } | Act::ConsoleLinkCreated { name } => {
            AuditDetails { key_name: Some(name.to_string()), ..details }
        }
        Act::Archived { before, orders, devices, returned_orders, returned_devices } => {
            AuditDetails {
                before_timestamp: Some(before.0),
                orders: Some(orders),
                devices: Some(devices),
                returned_orders: Some(returned_orders),
                returned_devices: Some(returned_devices),
                ..details
            }
        }
        Act::DeviceDeleted { device_code, group_id } => {
            AuditDetails { device_code: Some(device_code), group_id, ..details }
        }
        Act::OrdersImported { accepted, updated, unchanged, rejected, groups } => AuditDetails {
            accepted: Some(accepted),
            updated: Some(updated),
            unchanged: Some(unchanged),
            rejected: Some(rejected),
            groups: groups
                .into_iter()
                .map(|group| ImportedGroup {
                    group_id: group.group_id,
                    accepted: group.accepted,
                    updated: group.updated,
                    unchanged: group.unchanged,
                })
                .collect(),
            ..details
        },
        Act::RatesImported { rates } => AuditDetails { rates: Some(rates), ..details },
        Act::ConsoleLogin { .. } | Act::ConsoleLogout => details,
        Act::ImportInterrupted { import, reason, orders } => AuditDetails {
            import_id: Some(import.to_string()),
            reason: Some(reason.name().to_owned()),
            orders: orders.and_then(|orders| i64::try_from(orders).ok()),
            ..details
        },
    }
}

/// Adds the command, if one made the change, to details.
pub(super) fn with_run(details: AuditDetails, by: &ActedBy) -> AuditDetails {
    let AuditDetails { user, uid, command, file, mapping, import_id, .. } = of_run(by);
    AuditDetails { user, uid, command, file, mapping, import_id, ..details }
}

/// Returns the details of every change by a command: the user, and the files that it read.
pub(crate) fn of_run(by: &ActedBy) -> AuditDetails {
    let Some(CommandRun { user, uid, command, file, mapping, import }) = by.run.clone() else {
        return AuditDetails::default();
    };
    AuditDetails {
        user,
        uid,
        command: Some(command),
        file,
        mapping,
        import_id: import.map(|import| import.to_string()),
        ..AuditDetails::default()
    }
}

/// Returns the details of a change as people read them.
pub(super) fn text(event: AuditEvent, details: &AuditDetails) -> Option<String> {
    Some(match event {
        AuditEvent::FleetApplied => {
            let FleetCounts { groups, accounts, products, devices, sessions_ended } =
                details.fleet.as_ref()?;
            let counts = |&Applied { created, changed, unchanged }: &Applied| ChangeCounts {
                created,
                changed,
                unchanged,
            };
            let [groups, accounts, products, devices] =
                [groups, accounts, products, devices].map(counts);
            format!(
                "groups: {groups}; accounts: {accounts}; products: {products}; devices: \
                 {devices}; sessions ended: {sessions_ended}"
            )
        }
        AuditEvent::KeyCreated => {
            format!("{}: {}", details.key_name.as_deref()?, details.rights.join(","))
        }
        AuditEvent::KeyRevoked | AuditEvent::ConsoleLinkCreated => details.key_name.clone()?,
        AuditEvent::Archived => {
            let before = Zone::utc().text(UnixMs(details.before_timestamp?));
            let (orders, devices) = (details.orders?, details.devices?);
            let archived = format!("before {before} UTC: {orders} orders of {devices} devices");
            match (details.returned_orders?, details.returned_devices?) {
                (0, _) => archived,
                (orders, devices) => {
                    format!("{archived}; {orders} orders of {devices} devices are current again")
                }
            }
        }
        AuditEvent::DeviceDeleted => details.device_code.clone()?,
        AuditEvent::OrdersImported => format!(
            "{} accepted, {} updated, {} unchanged, {} rejected",
            details.accepted?, details.updated?, details.unchanged?, details.rejected?
        ),
        AuditEvent::RatesImported => format!("{} rates", details.rates?),
        AuditEvent::ImportInterrupted => {
            let (import, reason) = (details.import_id.as_deref()?, details.reason.as_deref()?);
            let orders = details.orders.map(|orders| format!(", {orders} orders stored"));
            format!("import {import}: {reason}{}", orders.unwrap_or_default())
        }
        // Sessions of integrators and of the console, whose text is a reason or nothing.
        AuditEvent::Login
        | AuditEvent::LoginRefused
        | AuditEvent::SwitchGroup
        | AuditEvent::Logout
        | AuditEvent::SessionReplaced
        | AuditEvent::SessionEnded
        | AuditEvent::ConsoleLogin
        | AuditEvent::ConsoleLoginRefused
        | AuditEvent::ConsoleLogout => return None,
    })
}

/// Adds the reason, which is stored as text.
pub(super) fn with_reason(
    details: Option<AuditDetails>,
    happened: &AuditRecord,
) -> Option<AuditDetails> {
    let has_reason = matches!(
        happened.event,
        AuditEvent::LoginRefused | AuditEvent::SessionEnded | AuditEvent::ConsoleLoginRefused
    );
    let reason = happened.detail.clone().filter(|_| has_reason);
    match reason {
        Some(reason) => Some(AuditDetails { reason: Some(reason), ..details.unwrap_or_default() }),
        None => details,
    }
}
