//! `GET /operator/v1/changes`: the orders of a group by their latest change, one on each line.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use kiosque_contract::operator_call::ListChanges;
use kiosque_listener::{BrokenOff, Content, LaterParts};
use kiosque_model::shares::{NoShare, Share};
use kiosque_model::{ChangeCursor, GroupId, KeyName};
use kiosque_store::{ChangeQuery, ChangeWait, Follower, OrderChanges, Refused};

use super::call::Caller;
use super::key::{Proof, StreamKey};
use crate::app::App;
use crate::call::{Call, read_permit};
use crate::failure::Failure;
use crate::panics::catch_panic;

/// Number of orders that are read at a time.
const PART_ORDERS: i64 = 500;
/// The maximum pause in an answer that follows changes, after which an empty line is sent, so that
/// the end of the connection is noticed.
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

/// An answer that continues after the last change.
struct Following {
    key: StreamKey,
    /// `None` before the number of the group is known.
    follower: Option<(Follower, ChangeWait)>,
    _share: Share<KeyName>,
}

pub(super) async fn list(caller: Caller<'_>) -> Result<Content, Failure> {
    let Caller { call, proof, holder, mut query, .. } = caller;
    let id = query.text("group").unwrap_or_default();
    let group = query.group_of("group", id.clone());
    let after = query.parse("after", "the value of next in a line", |text| match text {
        // An empty position is the beginning.
        "" => Some(None),
        text => ChangeCursor::read(text).map(Some),
    });
    let follow = query.parse("follow", "true or false", |text| text.parse::<bool>().ok());
    query.finish()?;
    let unknown = || Failure::unknown_group(&id);
    // A form of the console shows an answer that ends.
    let is_key = matches!(proof, Proof::Key);
    let following = match follow == Some(true) && is_key {
        true => Some(Following::begin(call, holder.name)?),
        false => None,
    };
    let mut rest = Rest {
        app: Arc::clone(call.app),
        request_id: call.request_id.to_owned(),
        group: group.ok_or_else(unknown)?,
        after: after.flatten(),
        following,
        is_complete: false,
    };
    let first = rest.read().await?.ok_or_else(unknown)?;
    Ok(Content::in_parts(lines(&first), rest.into_parts()))
}

impl Following {
    fn begin(call: &Call<'_>, holder: KeyName) -> Result<Following, Failure> {
        let share = call.app.follows.take(holder).map_err(|no_share| {
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
        let key = StreamKey::new(ListChanges, call)?;
        Ok(Following { key, follower: None, _share: share })
    }
}

impl Rest {
    /// Reads the next orders; `None` without such a group.
    async fn read(&mut self) -> Result<Option<OrderChanges>, Failure> {
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
                let error = "after must be the value of next in a line of the group; if it is, the \
                             data was restored to an earlier state: begin again without after";
                Failure::bad_query(vec![error.to_owned()])
            }
            Refused::Store(error) => error.into(),
        })?;
        if let Some(changes) = &changes {
            self.after = Some(changes.next());
            self.is_complete = !changes.more;
        }
        Ok(changes)
    }

    fn into_parts(self) -> LaterParts {
        Box::pin(stream::try_unfold(Box::new(self), |mut rest| async {
            match catch_panic(rest.next()).await {
                Ok(part) => Ok(part.map(|part| (part, rest))),
                Err(failure) => Err(rest.broken_off(&failure)),
            }
        }))
    }

    /// Returns the next part; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
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

    /// Waits for a change, if the answer continues after the last one.
    async fn wait(&mut self) -> Result<Waited, Failure> {
        let (Some(following), Some(after)) = (&mut self.following, self.after) else {
            return Ok(Waited::Ended);
        };
        let Some((follower, _)) = &mut following.follower else {
            let new = self.app.store.orders().follow(after.group, None);
            let most = self.app.settings.limits.change_waits_per_account_max;
            let waits = new.begin_wait(most)?;
            following.follower = Some((new, waits));
            // Earlier changes are read first.
            return Ok(Waited::Changed);
        };
        tokio::select! {
            () = follower.woken(after.change_no) => Ok(Waited::Changed),
            () = tokio::time::sleep(PAUSE_MAX) => Ok(Waited::Paused),
            () = self.app.stopping.wait() => Ok(Waited::Ended),
            revoked = following.key.revoked() => Err(revoked),
        }
    }

    /// Fails if the key of an answer that follows changes was revoked.
    async fn check_key(&mut self) -> Result<(), Failure> {
        match &mut self.following {
            Some(following) => following.key.check().await,
            None => Ok(()),
        }
    }

    fn broken_off(&self, failure: &Failure) -> BrokenOff {
        match failure {
            Failure::System(error) => {
                self.app.failed_with("changes were aborted", error, &self.request_id);
            }
            refused => {
                let problem = format_args!("{} {}", refused.status(), refused.reason());
                tracing::info!(request.id = self.request_id, %problem, "changes were aborted");
            }
        }
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
