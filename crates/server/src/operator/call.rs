//! One request, as the operator's calls see it.

use std::net::IpAddr;
use std::time::Duration;

use http::request::Parts;
use http::{Method, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use kiosque_model::{ActedBy, Origin, Right, UnixMs};
use kiosque_store::KeyHolder;

use super::{key, problem::Problem};
use crate::app::App;
use crate::call::source_of;

/// How long, and how many times the body limit, is still read of a body that nobody asked for.
const PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE_BODIES: usize = 8;

/// A request, its body not read yet.
pub(crate) struct Call<'a> {
    pub(crate) app: &'a App,
    pub(crate) now: UnixMs,
    /// Who is at the other end of the connection: the caller, or a gateway before it.
    pub(crate) peer: IpAddr,
    /// Names the request in its answer, the log and the audit trail.
    pub(crate) request_id: &'a str,
    pub(crate) head: Parts,
    pub(crate) body: Incoming,
}

impl Call<'_> {
    pub(crate) fn path(&self) -> String {
        self.head.uri.path().to_owned()
    }

    /// The call, if it came as a GET; whoever may GET may ask for the head alone, too.
    pub(crate) fn get(&mut self) -> Result<&mut Self, Problem> {
        self.only(&[Method::GET, Method::HEAD], "GET, HEAD")
    }

    /// The call, if it came as a POST.
    pub(crate) fn post(&mut self) -> Result<&mut Self, Problem> {
        self.only(&[Method::POST], "POST")
    }

    fn only(&mut self, methods: &[Method], told: &'static str) -> Result<&mut Self, Problem> {
        if methods.contains(&self.head.method) {
            Ok(self)
        } else {
            Err(Problem::method_not_allowed(told))
        }
    }

    /// Whose key the request brings, if it may do this.
    pub(crate) async fn holder(&self, right: Right) -> Result<KeyHolder, Problem> {
        key::holder(self.app, &self.head, right).await
    }

    /// Who acts with this call, for the audit trail.
    pub(crate) fn acted_by(&self, holder: KeyHolder) -> ActedBy {
        let source = source_of(self.app, &self.head.headers, self.peer);
        let request_id = self.request_id.to_owned();
        ActedBy::key(holder.name, Origin { source, request_id, at: self.now })
    }

    /// Reads on, and forgets, what a refused caller is still sending: one that is cut off while it
    /// sends may never see the answer that says why.
    pub(crate) async fn drain(&mut self) {
        // A caller that asks first sends nothing until it is told to go on.
        if self.body.is_end_stream() || self.head.headers.contains_key(header::EXPECT) {
            return;
        }
        let most = self.app.settings.limits.body_max_bytes.saturating_mul(PATIENCE_BODIES);
        let body = &mut self.body;
        let hearing = async {
            let mut heard = 0_usize;
            while let Some(Ok(frame)) = body.frame().await {
                heard = heard.saturating_add(frame.data_ref().map_or(0, bytes::Bytes::len));
                if heard > most {
                    break;
                }
            }
        };
        // Whether all was heard changes nothing.
        let _ = tokio::time::timeout(PATIENCE, hearing).await;
    }
}
