//! A call of the operator: its method, its key and the keys of its query string are checked, then
//! its handler runs.

use std::time::Duration;

use http::{Method, header};
use hyper::body::Body;
use kiosque_contract::operator_call::{CallMethod, OPERATOR_CALLS, OperatorCall, Text};
use kiosque_listener::{Content, read_body};
use kiosque_model::ActedBy;
use kiosque_store::KeyHolder;

use super::Answer;
use super::key::{self, Proof};
use super::query::Query;
use crate::answer::with_content;
use crate::app::App;
use crate::call::{Call, SentBody, read_permit};
use crate::failure::Failure;

/// How long the rest of a refused body is read and discarded.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// A request of the operator whose body has not been read yet.
pub(super) struct Received<'a> {
    pub(super) call: Call<'a>,
    pub(super) body: SentBody,
    /// The proof that the caller may run the call.
    pub(super) proof: Proof,
    /// Whether the caller may run it, so that its handler may have begun to read the body.
    pub(super) is_authorized: bool,
}

/// A request whose caller may run its call, and whose query string only has keys of the call.
pub(super) struct Caller<'c> {
    pub(super) call: &'c Call<'c>,
    pub(super) body: &'c mut SentBody,
    pub(super) proof: &'c Proof,
    pub(super) holder: KeyHolder,
    pub(super) query: Query,
}

impl Caller<'_> {
    /// Returns the actor for the audit trail.
    pub(super) fn acted_by(&self) -> ActedBy {
        ActedBy::key(self.holder.name.clone(), self.call.origin())
    }
}

impl<'a> Received<'a> {
    /// Answers with the handler of a call that takes no key, in plain text.
    pub(super) async fn answer<C, H>(&self, call: C, handler: H) -> Answer
    where
        C: OperatorCall<Response = Text>,
        H: AsyncFnOnce(&'a App) -> Result<Text, Failure>,
    {
        const { assert!(C::RIGHT.is_none(), "the call takes a key: use answer_json") };
        self.check_method(call)?;
        let text = handler(self.call.app).await?;
        Ok(with_content(C::CONTENT_TYPE, text.into_owned()))
    }

    /// Answers with the handler of a call that takes a key, in JSON. A call that reads the stored
    /// data waits for a permit; see [`read_permit`].
    pub(super) async fn answer_json<'c, C, H>(&'c mut self, call: C, handler: H) -> Answer
    where
        C: OperatorCall,
        H: AsyncFnOnce(Caller<'c>) -> Result<C::Response, Failure>,
    {
        let caller = self.authorize(call).await?;
        let _permit = match C::METHOD {
            CallMethod::Get => Some(read_permit(caller.call.app).await?),
            CallMethod::Post => None,
        };
        let response = handler(caller).await?;
        let body = serde_json::to_vec(&response).map_err(|error| Failure::internal(&error))?;
        Ok(with_content(C::CONTENT_TYPE, body))
    }

    /// Answers with the handler of a call whose answer is lines, which are read while they are
    /// sent.
    pub(super) async fn answer_lines<'c, C, H>(&'c mut self, call: C, handler: H) -> Answer
    where
        C: OperatorCall,
        H: AsyncFnOnce(Caller<'c>) -> Result<Content, Failure>,
    {
        let lines = handler(self.authorize(call).await?).await?;
        Ok(with_content(C::CONTENT_TYPE, lines))
    }

    /// Checks the method, the right of the key, and the keys of the query string.
    async fn authorize<C: OperatorCall>(&mut self, of: C) -> Result<Caller<'_>, Failure> {
        const { assert!(C::RIGHT.is_some(), "the call takes no key: use answer") };
        self.check_method(of)?;
        let right = C::RIGHT.unwrap_or_default();
        let Received { call, body, proof, is_authorized } = self;
        let holder = match proof {
            Proof::Key => key::holder(call.app, &key::presented(call.head)?, right).await?,
            Proof::Session(holder) => key::permitted(holder.clone(), right)?,
        };
        let query = Query::of(of, call.query())?;
        *is_authorized = true;
        Ok(Caller { call, body, proof, holder, query })
    }

    fn check_method<C: OperatorCall>(&self, _: C) -> Result<(), Failure> {
        let is_allowed = match C::METHOD {
            CallMethod::Get => self.call.reads(),
            CallMethod::Post => self.call.head.method == Method::POST,
        };
        if is_allowed {
            return Ok(());
        }
        let takes = |method| {
            OPERATOR_CALLS.iter().any(|call| call.path == C::PATH && call.method == method)
        };
        Err(Failure::Method(match (takes(CallMethod::Get), takes(CallMethod::Post)) {
            (true, true) => "GET, HEAD, POST",
            (true, false) => "GET, HEAD",
            (false, _) => "POST",
        }))
    }

    /// Reads and discards the rest of a refused body: a connection that is closed while its caller
    /// is still sending loses the answer.
    pub(super) async fn drain(&mut self) {
        // A caller that expects `100 Continue` sends nothing before the body is read, which its
        // handler may have begun.
        let sends = self.is_authorized || !self.call.head.headers.contains_key(header::EXPECT);
        if self.body.is_end_stream() || !sends {
            return;
        }
        let limits = &self.call.app.settings.limits;
        let rest = read_body(&mut self.body, limits.body_max_bytes, limits);
        // The answer is sent in any case.
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, rest).await;
    }
}
