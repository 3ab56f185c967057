//! The audit trail: logins, sessions and changes by the operator, with time and source. It is
//! append-only.

use std::fmt;

use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::ids::KeyName;
use crate::source::Source;
use crate::time::UnixMs;

/// The origin of an integrator's request.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Address.
    pub source: Source,
    /// Request ID, as in the response and in the log.
    pub request_id: String,
    /// Time of arrival.
    pub at: UnixMs,
}

/// A kind of entry.
#[derive(IntoStaticStr, EnumString, VariantArray)]
#[strum(serialize_all = "camelCase")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuditEvent {
    /// An account logged in.
    Login,
    /// One or more logins were refused.
    LoginRefused,
    /// An account selected another group.
    SwitchGroup,
    /// An account logged out.
    Logout,
    /// A login ended a session of its account that was still live.
    SessionReplaced,
    /// The operator ended a live session, or applied a fleet that did.
    SessionEnded,
    /// The operator applied a fleet.
    FleetApplied,
    /// The operator created a key for the operator's listener.
    KeyCreated,
    /// The operator revoked such a key.
    KeyRevoked,
    /// Orders were archived, or archived orders are current again.
    Archived,
    /// A device without orders was deleted.
    DeviceDeleted,
    /// An import of orders ended.
    OrdersImported,
    /// An import of exchange rates ended.
    RatesImported,
    /// A link was created that signs in to the console once.
    ConsoleLinkCreated,
    /// The holder of a key signed in to the console.
    ConsoleLogin,
    /// One or more attempts to sign in to the console were refused.
    ConsoleLoginRefused,
    /// The holder of a key signed out of the console.
    ConsoleLogout,
    /// An import ended early.
    ImportInterrupted,
}

impl AuditEvent {
    /// All events.
    pub const ALL: &[AuditEvent] = AuditEvent::VARIANTS;

    /// Returns the event's name in JSON and in the database.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why a login was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr)]
#[strum(serialize_all = "camelCase")]
pub enum LoginRefusal {
    /// An unknown login name, a wrong password, or a disabled account.
    Credentials,
    /// The account has no API access.
    ApiNotEnabled,
    /// The account has no active group.
    NoGroup,
    /// Too many failed logins; the password was not checked.
    Limited,
    /// The key for the console is unknown or revoked.
    #[strum(serialize = "key")]
    ConsoleKey,
    /// The link to the console is unknown, spent or too old.
    #[strum(serialize = "link")]
    ConsoleLink,
}

impl LoginRefusal {
    /// Returns the name in the trail.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the kind of entry.
    pub const fn event(self) -> AuditEvent {
        match self {
            LoginRefusal::Credentials
            | LoginRefusal::ApiNotEnabled
            | LoginRefusal::NoGroup
            | LoginRefusal::Limited => AuditEvent::LoginRefused,
            LoginRefusal::ConsoleKey | LoginRefusal::ConsoleLink => AuditEvent::ConsoleLoginRefused,
        }
    }
}

/// Why the operator's act ended a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "camelCase")]
pub enum AccountChange {
    /// The password was changed.
    PasswordChanged,
    /// The account was disabled.
    AccountDisabled,
    /// The account's API access was turned off.
    ApiAccessOff,
    /// The operator ended the session; the account may log in again.
    EndedByOperator,
}

impl AccountChange {
    /// Returns the name in the trail.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why an import ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "camelCase")]
pub enum Interruption {
    /// A signal, such as Ctrl-C.
    Signal,
    /// An error.
    Failure,
    /// Its process ended without a result: it was killed, or the machine stopped.
    ProcessLost,
}

impl Interruption {
    /// Returns the name in the trail.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// An actor on behalf of the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A command on the data.
    Command,
    /// The server, as configured.
    Server,
    /// The holder of a key of the operator's listener, by the key's name.
    Key(KeyName),
}

/// Formats the actor as the trail has it.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Command => f.write_str("command"),
            Actor::Server => f.write_str("server"),
            Actor::Key(name) => write!(f, "key {name}"),
        }
    }
}

/// A command, and the user of the machine who ran it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandRun {
    /// The name of the user, if known.
    pub user: Option<String>,
    /// The user ID; `None` if the system does not report it.
    pub uid: Option<u32>,
    /// The command, such as `import orders`.
    pub command: String,
    /// The file that it read.
    pub file: Option<String>,
    /// The mapping of the file.
    pub mapping: Option<String>,
    /// The number of the import.
    pub import: Option<i64>,
}

/// The actor, time and request of a change by the operator.
#[derive(Clone, Debug)]
pub struct ActedBy {
    /// Actor.
    pub actor: Actor,
    /// Time.
    pub at: UnixMs,
    /// Source and request ID, for changes through the operator's API.
    pub request: Option<(Source, String)>,
    /// The command, if a command made the change and identified itself.
    pub run: Option<CommandRun>,
}

impl ActedBy {
    /// Returns the origin of a change by a command.
    pub fn command(at: UnixMs) -> ActedBy {
        ActedBy { actor: Actor::Command, at, request: None, run: None }
    }

    /// Returns the origin of a change by this run of a command.
    pub fn run(run: CommandRun, at: UnixMs) -> ActedBy {
        ActedBy { run: Some(run), ..ActedBy::command(at) }
    }

    /// Returns the origin of a change by the server.
    pub fn server(at: UnixMs) -> ActedBy {
        ActedBy { actor: Actor::Server, at, request: None, run: None }
    }

    /// Returns the origin of a change by a call with this key.
    pub fn key(name: KeyName, origin: Origin) -> ActedBy {
        let request = Some((origin.source, origin.request_id));
        ActedBy { actor: Actor::Key(name), at: origin.at, request, run: None }
    }
}

/// An entry of the trail, without its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Time; the latest of several occurrences.
    pub at: UnixMs,
    /// Kind of entry.
    pub event: AuditEvent,
    /// Login name of an existing account only: users type passwords into that field.
    pub account: Option<String>,
    /// Actor, for changes by the operator.
    pub actor: Option<Actor>,
    /// Source; `None` for several occurrences from different sources.
    pub source: Option<Source>,
    /// Request ID; the latest of several occurrences.
    pub request_id: Option<String>,
    /// The group that the session selects, or selected until it ended.
    pub group_id: Option<String>,
    /// Number of occurrences; above 1 for combined refusals of logins.
    pub count: i64,
    /// Reason of a refused login, change that ended a session, or result of an operation.
    pub detail: Option<String>,
}

impl AuditRecord {
    /// Returns an entry about an integrator's request.
    pub fn to_account(event: AuditEvent, account: Option<String>, origin: &Origin) -> AuditRecord {
        AuditRecord {
            source: Some(origin.source),
            request_id: Some(origin.request_id.clone()),
            account,
            ..AuditRecord::bare(event, origin.at)
        }
    }

    /// Returns an entry about a change by the operator.
    pub fn by_operator(event: AuditEvent, by: &ActedBy) -> AuditRecord {
        AuditRecord {
            actor: Some(by.actor.clone()),
            source: by.request.as_ref().map(|(source, _)| *source),
            request_id: by.request.as_ref().map(|(_, id)| id.clone()),
            ..AuditRecord::bare(event, by.at)
        }
    }

    fn bare(event: AuditEvent, at: UnixMs) -> AuditRecord {
        AuditRecord {
            at,
            event,
            account: None,
            actor: None,
            source: None,
            request_id: None,
            group_id: None,
            count: 1,
            detail: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_they_are_written() {
        for event in AuditEvent::ALL {
            assert_eq!(event.name().parse(), Ok(*event));
        }
        assert_eq!("Login".parse::<AuditEvent>().ok(), None);
    }

    #[test]
    fn reasons_have_their_names_in_the_trail() {
        assert_eq!(AuditEvent::SessionReplaced.name(), "sessionReplaced");
        let refused =
            [LoginRefusal::ApiNotEnabled, LoginRefusal::ConsoleKey, LoginRefusal::ConsoleLink];
        assert_eq!(refused.map(LoginRefusal::name), ["apiNotEnabled", "key", "link"]);
        assert_eq!(AccountChange::ApiAccessOff.name(), "apiAccessOff");
        assert_eq!(Interruption::ProcessLost.name(), "processLost");
    }

    #[test]
    fn entries_have_the_origin_of_what_they_record() {
        let origin = Origin {
            source: Source::of([192, 0, 2, 7].into()),
            request_id: "r1".to_owned(),
            at: UnixMs(5),
        };
        let bare = AuditRecord {
            at: UnixMs(5),
            event: AuditEvent::Login,
            account: None,
            actor: None,
            source: None,
            request_id: None,
            group_id: None,
            count: 1,
            detail: None,
        };
        let of_request = AuditRecord {
            source: Some(origin.source),
            request_id: Some("r1".to_owned()),
            ..bare.clone()
        };
        let account = Some("ana".to_owned());
        assert_eq!(
            AuditRecord::to_account(AuditEvent::Login, account.clone(), &origin),
            AuditRecord { account, ..of_request.clone() }
        );
        let name = KeyName::parse("tills").expect("a name");
        assert_eq!(
            AuditRecord::by_operator(AuditEvent::Login, &ActedBy::key(name.clone(), origin)),
            AuditRecord { actor: Some(Actor::Key(name)), ..of_request }
        );
        let run = CommandRun { command: "apply".to_owned(), ..CommandRun::default() };
        let by = ActedBy::run(run.clone(), UnixMs(5));
        assert_eq!((&by.run, &by.request), (&Some(run), &None));
        assert_eq!(
            AuditRecord::by_operator(AuditEvent::Login, &by),
            AuditRecord { actor: Some(Actor::Command), ..bare }
        );
    }
}
