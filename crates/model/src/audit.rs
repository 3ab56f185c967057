//! The audit trail: who did what, from where and when. It is only ever added to.

use std::fmt;

use crate::ids::KeyName;
use crate::operator::Rights;
use crate::source::Source;
use crate::time::UnixMs;

/// Where an integrator's request came from, for the trail.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The address.
    pub source: Source,
    /// Names the request in its answer and in the log.
    pub request_id: String,
    /// When it came.
    pub at: UnixMs,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuditEvent {
    /// An account logged in.
    Login,
    /// A login was refused; or several, told together.
    LoginRefused,
    /// An account selected another group.
    SwitchGroup,
    /// An account logged out.
    Logout,
    /// A login ended a session of its account that was still live.
    SessionReplaced,
    /// An apply ended a session that was still live.
    SessionEnded,
    /// The operator applied a fleet.
    FleetApplied,
    /// The operator made a key for the operator's listener.
    KeyCreated,
    /// The operator revoked such a key.
    KeyRevoked,
    /// Old orders became history.
    Archived,
    /// An order import came to its end.
    OrdersImported,
    /// An import of exchange rates came to its end.
    RatesImported,
}

impl AuditEvent {
    /// Every event.
    pub const ALL: [AuditEvent; 12] = [
        AuditEvent::Login,
        AuditEvent::LoginRefused,
        AuditEvent::SwitchGroup,
        AuditEvent::Logout,
        AuditEvent::SessionReplaced,
        AuditEvent::SessionEnded,
        AuditEvent::FleetApplied,
        AuditEvent::KeyCreated,
        AuditEvent::KeyRevoked,
        AuditEvent::Archived,
        AuditEvent::OrdersImported,
        AuditEvent::RatesImported,
    ];

    /// What it is called, on the wire and where it is kept.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            AuditEvent::Login => "login",
            AuditEvent::LoginRefused => "loginRefused",
            AuditEvent::SwitchGroup => "switchGroup",
            AuditEvent::Logout => "logout",
            AuditEvent::SessionReplaced => "sessionReplaced",
            AuditEvent::SessionEnded => "sessionEnded",
            AuditEvent::FleetApplied => "fleetApplied",
            AuditEvent::KeyCreated => "keyCreated",
            AuditEvent::KeyRevoked => "keyRevoked",
            AuditEvent::Archived => "archived",
            AuditEvent::OrdersImported => "ordersImported",
            AuditEvent::RatesImported => "ratesImported",
        }
    }

    /// The event of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<AuditEvent> {
        AuditEvent::ALL.into_iter().find(|event| event.name() == name)
    }
}

/// Why a login was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoginFault {
    /// An unknown login name, a wrong password, or a disabled account.
    Credentials,
    /// The account has no API access.
    ApiNotEnabled,
    /// The account has no active group.
    NoGroup,
    /// Too many failures before it; the password was not looked at.
    Limited,
}

impl LoginFault {
    /// What it is called in the trail.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LoginFault::Credentials => "credentials",
            LoginFault::ApiNotEnabled => "apiNotEnabled",
            LoginFault::NoGroup => "noGroup",
            LoginFault::Limited => "limited",
        }
    }
}

/// What an apply took away, so that a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenAway {
    /// The password is another.
    Password,
    /// The account is disabled.
    Account,
    /// The account's API access is off.
    ApiAccess,
}

impl TakenAway {
    /// What it is called in the trail.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TakenAway::Password => "passwordChanged",
            TakenAway::Account => "accountDisabled",
            TakenAway::ApiAccess => "apiAccessOff",
        }
    }
}

/// Who acts for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Whoever may run commands on the data.
    Command,
    /// The server itself, because a setting says so.
    Server,
    /// The holder of a key of the operator's listener, by the key's name.
    Key(KeyName),
}

impl Actor {
    const KEY: &str = "key ";

    /// The actor that a trail tells of.
    #[must_use]
    pub fn named(text: &str) -> Option<Actor> {
        match text {
            "command" => Some(Actor::Command),
            "server" => Some(Actor::Server),
            _ => text
                .strip_prefix(Actor::KEY)
                .and_then(|name| KeyName::parse(name).ok())
                .map(Actor::Key),
        }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Command => f.write_str("command"),
            Actor::Server => f.write_str("server"),
            Actor::Key(name) => write!(f, "{}{name}", Actor::KEY),
        }
    }
}

/// Who acts for the operator, when, and by which request if by one.
#[derive(Clone, Debug)]
pub struct ActedBy {
    /// Who.
    pub actor: Actor,
    /// When.
    pub at: UnixMs,
    /// The address and the id of the request, of a call.
    pub request: Option<(Source, String)>,
}

impl ActedBy {
    /// A command.
    #[must_use]
    pub fn command(at: UnixMs) -> ActedBy {
        ActedBy { actor: Actor::Command, at, request: None }
    }

    /// The server itself.
    #[must_use]
    pub fn server(at: UnixMs) -> ActedBy {
        ActedBy { actor: Actor::Server, at, request: None }
    }

    /// A call with the key of this name.
    #[must_use]
    pub fn key(name: KeyName, origin: Origin) -> ActedBy {
        let request = Some((origin.source, origin.request_id));
        ActedBy { actor: Actor::Key(name), at: origin.at, request }
    }
}

/// What the operator did. An apply is told by the apply itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// A key was made.
    KeyCreated {
        /// The key's name.
        name: KeyName,
        /// What it may do.
        rights: Rights,
    },
    /// A key was revoked.
    KeyRevoked {
        /// The key's name.
        name: KeyName,
    },
    /// Orders became history.
    Archived {
        /// How many.
        orders: i64,
        /// Of how many devices.
        devices: usize,
    },
    /// An order import came to its end.
    OrdersImported {
        /// New ones.
        accepted: u64,
        /// Those that changed.
        updated: u64,
        /// Those that were there already.
        unchanged: u64,
        /// Lines that were not taken.
        rejected: u64,
    },
    /// An import of exchange rates came to its end.
    RatesImported {
        /// Days and currencies that it named; a file with a bad line brings none.
        rates: usize,
    },
}

impl Act {
    /// The event that it is.
    #[must_use]
    pub const fn event(&self) -> AuditEvent {
        match self {
            Act::KeyCreated { .. } => AuditEvent::KeyCreated,
            Act::KeyRevoked { .. } => AuditEvent::KeyRevoked,
            Act::Archived { .. } => AuditEvent::Archived,
            Act::OrdersImported { .. } => AuditEvent::OrdersImported,
            Act::RatesImported { .. } => AuditEvent::RatesImported,
        }
    }

    /// The rest of it, in words.
    #[must_use]
    pub fn detail(&self) -> String {
        match self {
            Act::KeyCreated { name, rights } => format!("{name}: {rights}"),
            Act::KeyRevoked { name } => name.to_string(),
            Act::Archived { orders, devices } => format!("{orders} orders of {devices} devices"),
            Act::OrdersImported { accepted, updated, unchanged, rejected } => format!(
                "{accepted} accepted, {updated} updated, {unchanged} unchanged, {rejected} rejected"
            ),
            Act::RatesImported { rates } => format!("{rates} rates"),
        }
    }
}

/// From where a session was opened that ended; nothing is known of one of an older program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EarlierSession {
    /// The address.
    pub source: Option<Source>,
    /// The request that opened it.
    pub request_id: Option<String>,
    /// When.
    pub at: Option<UnixMs>,
}

/// An entry of the trail before it has its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// When; the last time, of several told together.
    pub at: UnixMs,
    /// What.
    pub event: AuditEvent,
    /// Whose account. Never a name that does not exist: people type passwords there.
    pub account: Option<String>,
    /// Who acted for the operator.
    pub actor: Option<Actor>,
    /// From where; nothing when several sources are told together.
    pub source: Option<Source>,
    /// By which request; the last, of several told together.
    pub request_id: Option<String>,
    /// The group that the session selects, or selected until it ended.
    pub group_id: Option<String>,
    /// How often; above 1 for refusals that are told together.
    pub count: i64,
    /// More, in words: why a login was refused, what was taken away, what an act did.
    pub detail: Option<String>,
    /// The session that this ended.
    pub earlier: Option<EarlierSession>,
}

impl Happened {
    /// Something that an integrator did.
    #[must_use]
    pub fn to_account(event: AuditEvent, account: Option<String>, origin: &Origin) -> Happened {
        Happened {
            source: Some(origin.source),
            request_id: Some(origin.request_id.clone()),
            account,
            ..Happened::bare(event, origin.at)
        }
    }

    /// Something that the operator did.
    #[must_use]
    pub fn by_operator(event: AuditEvent, by: &ActedBy) -> Happened {
        Happened {
            actor: Some(by.actor.clone()),
            source: by.request.as_ref().map(|(source, _)| *source),
            request_id: by.request.as_ref().map(|(_, id)| id.clone()),
            ..Happened::bare(event, by.at)
        }
    }

    fn bare(event: AuditEvent, at: UnixMs) -> Happened {
        Happened {
            at,
            event,
            account: None,
            actor: None,
            source: None,
            request_id: None,
            group_id: None,
            count: 1,
            detail: None,
            earlier: None,
        }
    }
}

/// An entry of the trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Grows with each entry, and is given once.
    pub entry_no: i64,
    /// What happened.
    pub happened: Happened,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_actors_are_read_as_they_are_written() {
        for event in AuditEvent::ALL {
            assert_eq!(AuditEvent::named(event.name()), Some(event));
        }
        let key = KeyName::parse("command").map(Actor::Key).expect("a name");
        for actor in [Actor::Command, Actor::Server, key] {
            assert_eq!(Actor::named(&actor.to_string()), Some(actor));
        }
        assert_eq!((AuditEvent::named("Login"), Actor::named("ops")), (None, None));
    }
}
