//! The calls that faults select. Their names are in their entries.

use kiosque_contract::endpoint::{LogIn, SwitchGroup};
use kiosque_contract::{ENDPOINTS, Endpoint, EndpointInfo, TokenRule};

/// A call of the interface: its position in [`ENDPOINTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Noun(usize);

/// Calls of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nouns {
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
const GROUPS: (&str, Nouns) = ("groups", Nouns::Sessions);

impl Noun {
    /// Returns every call, in the order of ADDR-1.
    fn all() -> impl Iterator<Item = Noun> {
        (0..ENDPOINTS.len()).map(Noun)
    }

    fn endpoint(self) -> &'static EndpointInfo {
        &ENDPOINTS[self.0]
    }

    /// Returns the name.
    pub(crate) fn as_str(self) -> &'static str {
        self.endpoint().short_name
    }

    /// Returns the JSON pointer of the list in the data of its answer, if the answer is a list.
    pub(crate) fn rows(self) -> Option<&'static str> {
        self.endpoint().rows
    }

    /// Returns the call with this path, `/v8` included.
    pub(crate) fn at(route: &str) -> Option<Noun> {
        Noun::all().find(|noun| noun.endpoint().route == route)
    }

    /// Returns the calls that a name selects.
    pub(crate) fn named(name: &str) -> Option<Vec<Noun>> {
        if name == GROUPS.0 {
            return Some(GROUPS.1.calls().collect());
        }
        Noun::all().find(|noun| noun.as_str() == name).map(|noun| vec![noun])
    }

    /// Returns every name that selects calls, for messages.
    pub(crate) fn names() -> String {
        format!("{}, {}", Nouns::All.joined(), GROUPS.0)
    }
}

impl Nouns {
    /// Returns whether a call is one of these.
    pub(crate) fn contains(self, noun: Noun) -> bool {
        let endpoint = noun.endpoint();
        match self {
            Nouns::All => true,
            Nouns::WithToken => endpoint.token != TokenRule::Ignored,
            Nouns::Sessions => [LogIn::PATH, SwitchGroup::PATH].contains(&endpoint.path),
            Nouns::Pages => endpoint.paged,
            Nouns::Lists => endpoint.rows.is_some(),
            Nouns::Only(path) => endpoint.path == path,
        }
    }

    /// Returns the calls, in the order of ADDR-1.
    pub(crate) fn calls(self) -> impl Iterator<Item = Noun> {
        Noun::all().filter(move |noun| self.contains(*noun))
    }

    /// Returns the names of the calls.
    pub(crate) fn joined(self) -> String {
        self.calls().map(Noun::as_str).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ADDR-1: every call can be selected.
    #[test]
    fn every_call_has_a_name_of_its_own() {
        for endpoint in ENDPOINTS {
            let noun = Noun::at(endpoint.route).expect(endpoint.name);
            assert_eq!(Noun::named(noun.as_str()), Some(vec![noun]));
        }
        let sessions = [LogIn::ROUTE, SwitchGroup::ROUTE].into_iter().filter_map(Noun::at);
        let sessions: Vec<Noun> = sessions.collect();
        assert_eq!(Noun::named("groups"), Some(sessions));
        assert_eq!(Noun::at("/v8/unknown"), None);
    }
}
