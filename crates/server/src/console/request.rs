//! A request for the console, and the session that it belongs to.

use std::net::IpAddr;
use std::sync::Arc;

use http::request::Parts;
use kiosque_console::assets::RENEWAL_HEADER;
use kiosque_console::message::{self, Message};
use kiosque_console::{Frame, Language, Theme};
use kiosque_model::{ActedBy, ConsoleDigest, Origin, Right, Source, UnixMs};
use kiosque_store::{ConsoleSession, Oversight, SessionUse};
use tokio::sync::SemaphorePermit;

use super::fields::Fields;
use super::reply::{Refused, Reply};
use super::{cookies, preferences};
use crate::answer::Failure;
use crate::app::App;

/// A request, its form not included.
pub(super) struct ConsoleRequest<'a> {
    pub(super) app: &'a Arc<App>,
    pub(super) now: UnixMs,
    /// The other end of the connection: the browser, or a proxy before it.
    pub(super) peer: IpAddr,
    pub(super) source: Source,
    /// Names the request in its answer, the log and the audit trail.
    pub(super) request_id: &'a str,
    pub(super) head: &'a Parts,
}

impl<'a> ConsoleRequest<'a> {
    pub(super) fn path(&self) -> &'a str {
        self.head.uri.path()
    }

    /// Returns the fields of the query string.
    pub(super) fn query(&self) -> Fields {
        Fields::of(self.head.uri.query().unwrap_or_default())
    }

    /// Returns the fields of the query string, which may have these names and no others.
    pub(super) fn known_query(&self, names: &[&str]) -> Result<Fields, Refused> {
        let query = self.query();
        match query.unknown(names) {
            Some(name) => Err(Refused::UnknownParameter(name)),
            None => Ok(query),
        }
    }

    pub(super) fn language(&self) -> Language {
        preferences::language(&self.head.headers, self.app.settings.default_locale)
    }

    pub(super) fn theme(&self) -> Theme {
        preferences::theme(&self.head.headers)
    }

    /// Returns the origin for limits and the audit trail.
    pub(super) fn origin(&self) -> Origin {
        Origin { source: self.source, request_id: self.request_id.to_owned(), at: self.now }
    }

    /// Returns the digest of the session's cookie, if one was sent.
    pub(super) fn cookie(&self) -> Option<ConsoleDigest> {
        let value = cookies::value(&self.head.headers, cookies::SESSION)?;
        ConsoleDigest::of_presented(value.as_bytes())
    }

    /// Returns the session of the cookie, if it is live.
    pub(super) async fn session(&self) -> Result<Option<ConsoleSession>, Refused> {
        let Some(presented) = self.cookie() else { return Ok(None) };
        let session_use = match self.head.headers.contains_key(RENEWAL_HEADER) {
            true => SessionUse::Renewal,
            false => SessionUse::Act,
        };
        Ok(self.app.store.operators().console_session(presented, session_use, self.now).await?)
    }

    /// Waits for a permit to read the stored data.
    pub(super) async fn read_permit(&self) -> Result<SemaphorePermit<'a>, Refused> {
        let wait = self.app.settings.limits.store_wait;
        let permit = tokio::time::timeout(wait, self.app.operator_reads.acquire()).await;
        let busy = || Failure::busy("too many reads at a time; try again");
        Ok(permit.ok().and_then(Result::ok).ok_or_else(busy)?)
    }
}

/// A request of a signed-in person.
pub(super) struct SignedIn<'a> {
    pub(super) request: &'a ConsoleRequest<'a>,
    pub(super) session: &'a ConsoleSession,
    address: String,
}

impl<'a> SignedIn<'a> {
    pub(super) fn new(
        request: &'a ConsoleRequest<'a>,
        session: &'a ConsoleSession,
    ) -> SignedIn<'a> {
        let address = request.head.uri.path_and_query().map_or("", |address| address.as_str());
        SignedIn { request, session, address: address.to_owned() }
    }

    pub(super) fn path(&self) -> &'a str {
        self.request.path()
    }

    /// Returns the proof that the key has a right.
    pub(super) fn oversight(&self, right: Right) -> Result<Oversight<'a>, Refused> {
        self.session.oversight(right).ok_or(Refused::Right(right))
    }

    /// Returns the actor for the audit trail.
    pub(super) fn acted_by(&self) -> ActedBy {
        ActedBy::key(self.session.holder().name.clone(), self.request.origin())
    }

    /// Returns the frame of the page.
    pub(super) fn frame(&self) -> Frame<'_> {
        let holder = self.session.holder();
        Frame {
            language: self.request.language(),
            theme: self.request.theme(),
            rights: &holder.rights,
            key_name: holder.name.as_str(),
            zone: self.request.app.store.zone(),
            now: self.request.now,
            address: &self.address,
        }
    }

    /// Returns a page with the reason of a refusal.
    pub(super) fn refused(&self, refused: &Refused) -> Reply {
        let (app, id) = (self.request.app, self.request.request_id);
        let message = match refused {
            Refused::NotFound => Message::NotFound,
            Refused::Right(right) => Message::Forbidden(right.name()),
            Refused::Parameter(name) => Message::BadParameter(name),
            Refused::UnknownParameter(name) => Message::UnknownParameter(name),
            Refused::System(_) => Message::Failed(id),
            Refused::Method(_) | Refused::OtherSite | Refused::BadForm(_) => {
                return Reply::bare(refused, app, id);
            }
        };
        Reply::page(message::page(&self.frame(), &message)).of_refused(refused, app, id)
    }
}
