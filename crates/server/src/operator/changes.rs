//! `GET /operator/v1/changes`: the orders of a group by their latest change, one on each line.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::request::Parts;
use kiosque_contract::operator_call::ListChanges;
use kiosque_listener::{BrokenOff, Content, LaterParts};
use kiosque_model::shares::{NoShare, Share};
use kiosque_model::{ChangeCursor, GroupId, KeyName, UnixMs};
use kiosque_store::{ChangeQuery, ChangeWait, Follower, KeyHolder, OrderChanges, Refused};

use super::call::{Call, read_permit};
use super::key::{Proof, StreamKey};
use super::problem::Problem;
use super::query::{self, QueryFaults};
use crate::answer::Failure;
use crate::app::App;

/// Orders that are read at a time.
const PART_ORDERS: i64 = 500;
/// The longest pause of an answer that follows: then an empty line is sent, so that the end of the
/// connection is noticed.
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// The changes that have not been sent yet.
struct Rest {
    app: Arc<App>,
    request_id: String,
    group: GroupId,
    after: Option<ChangeCursor>,
    following: Option<Following>,
    /// Whether the last change has been read.
    is_complete: bool,
}

/// An answer that goes on after the last change.
struct Following {
    head: Parts,
    key_looked_up_at: UnixMs,
    /// None before the number of the group is known.
    follower: Option<(Follower, ChangeWait)>,
    _share: Share<KeyName>,
}

pub(super) async fn list(call: &mut Call<'_>, holder: KeyHolder) -> Result<Content, Problem> {
    let mut faults = QueryFaults::default();
    let filter = query::read::<ListChanges>(call.query(), &mut faults)?;
    let id = filter.group.unwrap_or_default();
    let group = faults.group(("group", Some(&id)));
    // An empty position is the beginning.
    let after = ("after", filter.after.as_deref().filter(|after| !after.is_empty()));
    let after = faults.parse(after, "the value of next in a line", ChangeCursor::read);
    let follow = ("follow", filter.follow.as_deref());
    let follow = faults.parse(follow, "true or false", |text| text.parse::<bool>().ok());
    if let Some(faults) = faults.finish() {
        return Err(Problem::bad_query(faults));
    }
    let unknown = || Problem::unknown_group(&id);
    // A form of the console shows an answer that ends.
    let is_key = matches!(call.proof, Proof::Key);
    let following = match follow == Some(true) && is_key {
        true => Some(Following::begin(call, holder.name)?),
        false => None,
    };
    let mut rest = Rest {
        app: Arc::clone(call.app),
        request_id: call.request_id.to_owned(),
        group: group.ok_or_else(unknown)?,
        after,
        following,
        is_complete: false,
    };
    let first = rest.read().await?.ok_or_else(unknown)?;
    Ok(Content::in_parts(lines(&first), rest.into_parts()))
}

impl Following {
    fn begin(call: &Call<'_>, key: KeyName) -> Result<Following, Failure> {
        let share = call.app.follows.take(key).map_err(|no_share| {
            Failure::busy(match no_share {
                NoShare::OfHolder => {
                    "too many answers follow changes: the key has its share of \
                     change_waits_per_account_max; end one of them, or use another key"
                }
                NoShare::OfAll => {
                    "too many answers follow changes: change_waits_per_account_max are open; try \
                     again when one has ended"
                }
            })
        })?;
        let (head, key_looked_up_at) = (call.head.clone(), call.now);
        Ok(Following { head, key_looked_up_at, follower: None, _share: share })
    }
}

impl Rest {
    /// Reads the next orders; `None` without such a group.
    async fn read(&mut self) -> Result<Option<OrderChanges>, Problem> {
        let permit = read_permit(&self.app).await?;
        let query = ChangeQuery { after: self.after, size: PART_ORDERS };
        let read = self.app.store.orders().changes_of_group(self.group.clone(), query);
        let read = match &mut self.following {
            Some(Following { follower: Some((follower, _)), .. }) => follower.read(read).await,
            _ => read.await,
        };
        drop(permit);
        let changes = read.map_err(|refused| match refused {
            Refused::Refusal(_) => {
                let fault = "after must be the value of next in a line of the group; if it is, the \
                             data was restored to an earlier state: begin again without after";
                Problem::bad_query(vec![fault.to_owned()])
            }
            Refused::Store(error) => Failure::from(error).into(),
        })?;
        if let Some(changes) = &changes {
            self.after = Some(changes.next());
            self.is_complete = !changes.more;
        }
        Ok(changes)
    }

    fn into_parts(self) -> LaterParts {
        Box::pin(stream::try_unfold(Box::new(self), |mut rest| async {
            match rest.next().await {
                Ok(part) => Ok(part.map(|part| (part, rest))),
                Err(problem) => Err(rest.broken_off(&problem)),
            }
        }))
    }

    /// Returns the next part; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            let waited = if self.is_complete { self.wait().await? } else { Waited::Changed };
            match waited {
                Waited::Changed => self.check_key().await?,
                // The key was looked up meanwhile.
                Waited::Paused => return Ok(Some(Bytes::from_static(b"\n"))),
                Waited::Ended => return Ok(None),
            }
            let Some(changes) = self.read().await? else { return Ok(None) };
            if !changes.is_empty() {
                return Ok(Some(lines(&changes)));
            }
        }
    }

    /// Waits for a change, if the answer goes on after the last one.
    async fn wait(&mut self) -> Result<Waited, Problem> {
        let (Some(following), Some(after)) = (&mut self.following, self.after) else {
            return Ok(Waited::Ended);
        };
        let Following { head, key_looked_up_at, follower, _share: _ } = following;
        let Some((follower, _)) = follower else {
            let new = self.app.store.orders().follow(after.group, None);
            let most = self.app.settings.limits.change_waits_per_account_max;
            let waits = new.begin_wait(most).map_err(Failure::from)?;
            following.follower = Some((new, waits));
            // The orders that changed before are read first.
            return Ok(Waited::Changed);
        };
        let mut key = StreamKey::new(ListChanges, &self.app, head, *key_looked_up_at);
        let waited = tokio::select! {
            () = follower.woken(after.change_no) => Waited::Changed,
            () = tokio::time::sleep(PAUSE_MAX) => Waited::Paused,
            () = self.app.stopped() => Waited::Ended,
            revoked = key.revoked() => return Err(revoked),
        };
        *key_looked_up_at = key.looked_up_at();
        Ok(waited)
    }

    /// Fails if the key of an answer that follows was revoked.
    async fn check_key(&mut self) -> Result<(), Problem> {
        let Some(Following { head, key_looked_up_at, .. }) = &mut self.following else {
            return Ok(());
        };
        let mut key = StreamKey::new(ListChanges, &self.app, head, *key_looked_up_at);
        key.check().await?;
        *key_looked_up_at = key.looked_up_at();
        Ok(())
    }

    fn broken_off(&self, problem: &Problem) -> BrokenOff {
        if let Some(kind) = problem.fault() {
            self.app.metrics.broken_off(kind);
        }
        tracing::info!(request.id = self.request_id, ?problem, "changes broke off");
        BrokenOff
    }
}

/// How a wait ended.
enum Waited {
    Changed,
    /// Nothing happened for [`PAUSE_MAX`].
    Paused,
    /// The answer ends.
    Ended,
}

fn lines(changes: &OrderChanges) -> Bytes {
    let mut lines = Vec::new();
    for (change_no, order) in changes.iter() {
        let next = changes.cursor_after(change_no).write();
        // Writing to a vector does not fail.
        let _ = write!(lines, r#"{{"changeNo":{change_no},"next":"{next}","order":"#);
        lines.extend_from_slice(order);
        lines.extend_from_slice(b"}\n");
    }
    Bytes::from(lines)
}
