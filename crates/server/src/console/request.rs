//! What a browser sends with a request for the console, and the session of the request.

use kiosque_console::Frame;
use kiosque_console::assets::RENEWAL_HEADER;
use kiosque_model::{ActedBy, ConsoleDigest, Right};
use kiosque_store::{ConsoleSession, Oversight, SessionUse};

use super::choices::Format;
use super::cookies;
use super::fields::Fields;
use super::reply::Reply;
use crate::call::Call;
use crate::failure::Failure;

impl Call<'_> {
    /// Returns the fields of the query string.
    pub(super) fn fields(&self) -> Fields {
        Fields::of(self.query())
    }

    /// Returns the fields of the query string, which may only have these names, each once.
    pub(super) fn known_fields(&self, names: &[&'static str]) -> Result<Fields, Failure> {
        let fields = self.fields();
        if let Some(name) = fields.unknown(names) {
            return Err(Failure::UnknownParameter(name));
        }
        match fields.repeated(names) {
            Some(name) => Err(Failure::Parameter(name)),
            None => Ok(fields),
        }
    }

    /// Returns the digest of the session's cookie, if one was sent.
    pub(super) fn cookie(&self) -> Option<ConsoleDigest> {
        let value = cookies::value(&self.head.headers, cookies::SESSION)?;
        ConsoleDigest::of_presented(value.as_bytes())
    }

    /// Returns the session of the cookie, if it is live.
    pub(super) async fn session(&self) -> Result<Option<ConsoleSession>, Failure> {
        let Some(presented) = self.cookie() else { return Ok(None) };
        let session_use = match self.head.headers.contains_key(RENEWAL_HEADER) {
            true => SessionUse::Renewal,
            false => SessionUse::Act,
        };
        Ok(self.app.store.operators().console_session(presented, session_use, self.now).await?)
    }
}

/// A request of a signed-in person.
pub(super) struct SignedIn<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) session: ConsoleSession,
    /// The number of checks of the service that are not ok.
    pub(super) failed_checks: i64,
}

impl SignedIn<'_> {
    /// Returns the proof that the key has a right.
    pub(super) fn oversight(&self, right: Right) -> Result<Oversight<'_>, Failure> {
        self.session.oversight(right).ok_or(Failure::Right(right))
    }

    /// Returns the actor for the audit trail.
    pub(super) fn acted_by(&self) -> ActedBy {
        ActedBy::key(self.session.holder().name.clone(), self.call.origin())
    }

    /// Answers with a view as a page, or as the file of this name.
    pub(super) fn reply<V>(
        &self,
        format: Format,
        view: &V,
        page: impl FnOnce(&Frame<'_>, &V) -> String,
        name: &str,
        csv: impl FnOnce(&V) -> String,
    ) -> Reply {
        match format {
            Format::Page => Reply::page(page(&self.frame(), view)),
            Format::Csv => Reply::csv(name, csv(view)),
        }
    }

    /// Returns the frame of the page.
    pub(super) fn frame(&self) -> Frame<'_> {
        let holder = self.session.holder();
        Frame {
            language: self.call.language(),
            theme: self.call.theme(),
            rights: &holder.rights,
            key_name: holder.name.as_str(),
            zone: self.call.app.store.zone(),
            now: self.call.now,
            failed_checks: self.failed_checks,
            address: self.call.head.uri.path_and_query().map_or("", |address| address.as_str()),
        }
    }
}
