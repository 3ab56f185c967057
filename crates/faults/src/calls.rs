//! The calls that faults select, by the short names of their entries.

use kiosque_contract::endpoint::{LogIn, SwitchGroup};
use kiosque_contract::{ENDPOINTS, Endpoint, EndpointInfo, TokenRule};

/// A call of the interface.
pub(crate) type Call = &'static EndpointInfo;

/// Calls of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calls {
    /// Every call.
    All,
    /// The calls that take a token.
    WithToken,
    /// The calls whose answers contain a token.
    Sessions,
    /// The calls that are paged.
    Pages,
    /// The calls whose answers are lists.
    Lists,
    /// The call with this path.
    Only(&'static str),
}

/// Several calls at once, by the name of their common answers.
const GROUPS: (&str, Calls) = ("groups", Calls::Sessions);

impl Calls {
    /// Returns the calls that a name selects.
    pub(crate) fn named(name: &str) -> Option<Calls> {
        if name == GROUPS.0 {
            return Some(GROUPS.1);
        }
        let call = ENDPOINTS.iter().find(|call| call.short_name == name)?;
        Some(Calls::Only(call.path))
    }

    /// Returns every name that selects calls, for messages.
    pub(crate) fn names() -> String {
        format!("{}, {}", Calls::All.joined(), GROUPS.0)
    }

    /// Returns whether a call is one of these.
    pub(crate) fn contains(self, call: &EndpointInfo) -> bool {
        match self {
            Calls::All => true,
            Calls::WithToken => call.token != TokenRule::Ignored,
            Calls::Sessions => [LogIn::PATH, SwitchGroup::PATH].contains(&call.path),
            Calls::Pages => call.paged,
            Calls::Lists => call.rows.is_some(),
            Calls::Only(path) => call.path == path,
        }
    }

    /// Returns each of the calls, in the order of ADDR-1.
    pub(crate) fn each(self) -> impl Iterator<Item = Call> {
        ENDPOINTS.iter().filter(move |call| self.contains(call))
    }

    /// Returns the names of the calls.
    pub(crate) fn joined(self) -> String {
        self.each().map(|call| call.short_name).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the call with this path, `/v8` included.
pub(crate) fn call_at(route: &str) -> Option<Call> {
    ENDPOINTS.iter().find(|call| call.route == route)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ADDR-1: every call can be selected.
    #[test]
    fn every_call_has_a_name_of_its_own() {
        for endpoint in ENDPOINTS {
            let call = call_at(endpoint.route).expect(endpoint.name);
            assert_eq!(Calls::named(call.short_name), Some(Calls::Only(endpoint.path)));
            assert_eq!(Calls::Only(endpoint.path).joined(), endpoint.short_name);
        }
        let sessions = Calls::named("groups").expect("a name").each();
        let sessions: Vec<&str> = sessions.map(|call| call.route).collect();
        assert_eq!(sessions, [LogIn::ROUTE, SwitchGroup::ROUTE]);
        assert!(call_at("/v8/unknown").is_none());
    }
}
