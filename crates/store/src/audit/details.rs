//! The details of an entry, as fields.

use kiosque_contract::{AuditDetails, FleetCounts};
use kiosque_model::audit::{AuditEvent, CommandRun, Interruption};
use kiosque_model::intake::OrderCounts;
use kiosque_model::{ActedBy, UnixMs, Zone, counted, orders_of_devices};

/// A change by the operator. Applied fleets have a separate kind of entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Act {
    /// The kind of entry.
    pub event: AuditEvent,
    /// The text of the entry, if it is not in the details.
    pub reason: Option<&'static str>,
    /// The details, without the run of a command.
    pub details: AuditDetails,
}

impl Act {
    /// Returns a change with these details.
    pub fn new(event: AuditEvent, details: AuditDetails) -> Act {
        Act { event, reason: None, details }
    }

    /// Returns the end of an import before the end of its file. `orders` are stored, new or not;
    /// `None` if their number is unknown.
    pub fn import_interrupted(import: i64, reason: Interruption, orders: Option<u64>) -> Act {
        let details = AuditDetails {
            import_id: Some(import.to_string()),
            reason: Some(reason.name().to_owned()),
            orders: orders.and_then(|orders| i64::try_from(orders).ok()),
            ..AuditDetails::default()
        };
        Act::new(AuditEvent::ImportInterrupted, details)
    }
}

/// Adds the command that made the change, if any, to details: its user, and the files that it read.
pub(crate) fn with_run(details: AuditDetails, by: &ActedBy) -> AuditDetails {
    let Some(CommandRun { user, uid, command, file, mapping, import }) = by.run.clone() else {
        return details;
    };
    let import_id = import.map(|import| import.to_string()).or(details.import_id);
    AuditDetails { user, uid, command: Some(command), file, mapping, import_id, ..details }
}

/// Returns the details of a change as text for people.
pub(super) fn text(event: AuditEvent, details: &AuditDetails) -> Option<String> {
    Some(match event {
        AuditEvent::FleetApplied => {
            let FleetCounts { groups, accounts, products, devices, sessions_ended } =
                details.fleet.as_ref()?;
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
            let archived = format!("before {before} UTC: {}", orders_of_devices(orders, devices));
            match (details.returned_orders?, details.returned_devices?) {
                (0, _) => archived,
                (orders, devices) => {
                    format!("{archived}; {} are current again", orders_of_devices(orders, devices))
                }
            }
        }
        AuditEvent::DeviceDeleted => details.device_code.clone()?,
        AuditEvent::OrdersImported => {
            let (accepted, updated) = (details.accepted?, details.updated?);
            let (unchanged, rejected) = (details.unchanged?, details.rejected?);
            OrderCounts { accepted, updated, unchanged, rejected }.to_string()
        }
        AuditEvent::RatesImported => counted(details.rates?, "rate"),
        AuditEvent::ImportInterrupted => {
            let import = details.import_id.as_deref()?;
            let reason = details.reason.as_deref()?;
            let orders = details.orders.map(|orders| format!(", {orders} orders stored"));
            format!("import {import}: {reason}{}", orders.unwrap_or_default())
        }
        // Sessions of integrators and of the console, whose text is a reason or empty.
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
    event: AuditEvent,
    detail: Option<&str>,
) -> Option<AuditDetails> {
    let has_reason = matches!(
        event,
        AuditEvent::LoginRefused | AuditEvent::SessionEnded | AuditEvent::ConsoleLoginRefused
    );
    let reason = detail.filter(|_| has_reason).map(str::to_owned);
    if reason.is_some() {
        return Some(AuditDetails { reason, ..details.unwrap_or_default() });
    }
    details
}
