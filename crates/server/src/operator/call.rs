//! One request of the operator: its method and its key are checked, then its handler runs.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, header};
use http_body_util::BodyExt;
use hyper::body::Body;
use kiosque_contract::operator_call::{CallMethod, OPERATOR_CALLS, OperatorCall, Text};
use kiosque_listener::Content;
use kiosque_model::{ActedBy, Origin, UnixMs};
use kiosque_store::KeyHolder;
use tokio::sync::SemaphorePermit;

use super::key::{self, Proof};
use super::{Answer, problem::Problem, query, success};
use crate::answer::Failure;
use crate::app::App;
use crate::call::{SentBody, source_of};

/// How long the rest of a refused body is read and discarded.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How much of it, as a multiple of the body limit.
const DRAIN_BODIES: usize = 8;

/// A request, its body not read yet.
pub(crate) struct Call<'a> {
    pub(crate) app: &'a Arc<App>,
    pub(crate) now: UnixMs,
    /// The other end of the connection: the caller, or a proxy before it.
    pub(crate) peer: IpAddr,
    /// Names the request in its answer, the log and the audit trail.
    pub(crate) request_id: &'a str,
    pub(crate) head: Parts,
    pub(crate) body: SentBody,
    /// The proof that the caller may run the call.
    pub(crate) proof: Proof,
}

impl<'a> Call<'a> {
    /// Answers with the handler of a call that takes no key, in plain text.
    pub(super) async fn answer<C, H>(&mut self, call: C, handler: H) -> Answer
    where
        C: OperatorCall<Response = Text>,
        H: AsyncFnOnce(&'a App) -> Result<Text, Problem>,
    {
        const { assert!(C::RIGHT.is_none(), "the call takes a key: use answer_holder") };
        self.check_method(call)?;
        let body = match handler(self.app).await? {
            Text::Borrowed(text) => Bytes::from_static(text.as_bytes()),
            Text::Owned(text) => Bytes::from(text),
        };
        Ok(success(C::CONTENT_TYPE, body))
    }

    /// Answers with the handler of a call that takes a key with a right, in JSON.
    pub(super) async fn answer_holder<'c, C, H>(&'c mut self, call: C, handler: H) -> Answer
    where
        C: OperatorCall,
        H: AsyncFnOnce(&'c mut Call<'a>, KeyHolder) -> Result<C::Response, Problem>,
    {
        let holder = self.authorize(call).await?;
        json_answer(call, &handler(self, holder).await?)
    }

    /// Answers with the handler of a call that reads the stored data; see [`read_permit`].
    pub(super) async fn answer_reader<'c, C, H>(&'c mut self, call: C, handler: H) -> Answer
    where
        C: OperatorCall,
        H: AsyncFnOnce(&'c mut Call<'a>) -> Result<C::Response, Problem>,
    {
        self.authorize(call).await?;
        let _permit = read_permit(self.app).await?;
        json_answer(call, &handler(self).await?)
    }

    /// Answers with the handler of a call whose answer is lines, which are read as they are sent.
    pub(super) async fn answer_lines<'c, C, H>(&'c mut self, call: C, handler: H) -> Answer
    where
        C: OperatorCall,
        H: AsyncFnOnce(&'c mut Call<'a>, KeyHolder) -> Result<Content, Problem>,
    {
        let holder = self.authorize(call).await?;
        Ok(success(C::CONTENT_TYPE, handler(self, holder).await?))
    }

    /// Returns the holder of the key, if the call takes the method and the keys of the query
    /// string, and the key has the right.
    async fn authorize<C: OperatorCall>(&self, call: C) -> Result<KeyHolder, Problem> {
        const { assert!(C::RIGHT.is_some(), "the call takes no key: use answer") };
        self.check_method(call)?;
        let right = C::RIGHT.unwrap_or_default();
        let holder = match &self.proof {
            Proof::Key => key::holder(self.app, &self.head, right).await?,
            Proof::Session(holder) => key::permitted(holder.clone(), right)?,
        };
        query::refuse_unknown_keys(call, self.query())?;
        Ok(holder)
    }

    /// Returns the query string.
    pub(super) fn query(&self) -> &str {
        self.head.uri.query().unwrap_or_default()
    }

    /// Returns whether the method is one of calls that read.
    pub(super) fn reads(&self) -> bool {
        self.head.method == Method::GET || self.head.method == Method::HEAD
    }

    fn check_method<C: OperatorCall>(&self, _: C) -> Result<(), Problem> {
        let is_allowed = match C::METHOD {
            CallMethod::Get => self.reads(),
            CallMethod::Post => self.head.method == Method::POST,
        };
        if is_allowed {
            return Ok(());
        }
        let takes = |method| {
            OPERATOR_CALLS.iter().any(|call| call.path == C::PATH && call.method == method)
        };
        Err(Problem::method_not_allowed(match (takes(CallMethod::Get), takes(CallMethod::Post)) {
            (true, true) => "GET, HEAD, POST",
            (true, false) => "GET, HEAD",
            (false, _) => "POST",
        }))
    }

    /// Returns the actor for the audit trail.
    pub(super) fn acted_by(&self, holder: KeyHolder) -> ActedBy {
        let source = source_of(self.app, &self.head.headers, self.peer);
        let request_id = self.request_id.to_owned();
        ActedBy::key(holder.name, Origin { source, request_id, at: self.now })
    }

    /// Reads and discards the rest of a refused body: a connection that is closed while its caller
    /// is still sending loses the answer.
    pub(super) async fn drain(&mut self) {
        // A caller that expects `100 Continue` sends nothing before it.
        if self.body.is_end_stream() || self.head.headers.contains_key(header::EXPECT) {
            return;
        }
        let most = self.app.settings.limits.body_max_bytes.saturating_mul(DRAIN_BODIES);
        let body = &mut self.body;
        let draining = async {
            let mut drained = 0_usize;
            while let Some(Ok(frame)) = body.frame().await {
                drained = drained.saturating_add(frame.data_ref().map_or(0, Bytes::len));
                if drained > most {
                    break;
                }
            }
        };
        // The answer is sent in any case.
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, draining).await;
    }
}

/// Returns a permit for a read of the stored data. Only a few run at a time, so that they do not
/// delay the streams of the listener.
pub(super) async fn read_permit(app: &App) -> Result<SemaphorePermit<'_>, Failure> {
    let permit = app.operator_reads.acquire();
    match tokio::time::timeout(app.settings.limits.store_wait, permit).await {
        Ok(permit) => permit.map_err(|closed| Failure::internal(&closed)),
        Err(_) => Err(Failure::busy("too many reads at a time; try again")),
    }
}

fn json_answer<C: OperatorCall>(_: C, response: &C::Response) -> Answer {
    let body = serde_json::to_vec(response).map_err(|error| Failure::internal(&error))?;
    Ok(success(C::CONTENT_TYPE, body))
}
