//! A planted bug, on the wire and not in the product: for a moment after a switch, a request with
//! the old token is passed on with the new one, as if the server still accepted the old one.

/// The number of requests that the moment lasts.
const MOMENT: usize = 2;

#[derive(Debug, Default)]
pub(super) struct StaleToken {
    replaced: Option<(String, String)>,
    requests_left: usize,
}

impl StaleToken {
    /// Notes that a switch was answered.
    pub(super) fn saw_switch(&mut self, old: &str, new: &str) {
        self.replaced = Some((old.to_owned(), new.to_owned()));
        self.requests_left = MOMENT;
    }

    /// Returns the token with which a request is passed on.
    pub(super) fn forwarded(&mut self, token: &str) -> String {
        let within_the_moment = self.requests_left > 0;
        self.requests_left = self.requests_left.saturating_sub(1);
        match &self.replaced {
            Some((old, new)) if within_the_moment && old == token => new.clone(),
            _ => token.to_owned(),
        }
    }
}
