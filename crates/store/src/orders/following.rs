//! Following the changes of a group, and looking up changes by other processes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kiosque_model::{AccountNo, GroupNo, PresentedToken};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::db::{Db, Deadline, Read};
use crate::error::Error;
use crate::followers::{Followed, Follower, Followers, LookUps};
use crate::sql::{numbers, statements};
use crate::views::Orders;

/// The interval of look-ups.
const LOOK_UP_INTERVAL: Duration = Duration::from_secs(1);

statements! {
    LAST_CHANGES() -> (GroupNo, i64) = "select c.group_no, c.last_change_no
        from {rows r: group_no bigint} cross join group_changes c where c.group_no = r.group_no";
    TOKENS() -> (AccountNo, Option<String>) = "select s.account_no, s.token_digest
        from {rows r: account_no bigint} cross join sessions s where s.account_no = r.account_no";
}

impl Orders<'_> {
    /// Returns a follower of a group, with the session of a token if it is an integrator's.
    pub fn follow(self, group: GroupNo, token: Option<&PresentedToken>) -> Follower {
        let (follower, starts_look_ups) = self.0.followers.follow(group, token);
        if starts_look_ups {
            tokio::spawn(look_up(self.0.db.clone(), Arc::clone(&self.0.followers)));
        }
        follower
    }

    /// Returns the number of requests that wait for changes.
    pub fn waiting_followers(self) -> usize {
        self.0.followers.waiting.load(Ordering::Relaxed)
    }

    /// Returns the number of look-ups for followers so far.
    pub fn look_ups(self) -> u64 {
        self.0.followers.look_ups.load(Ordering::Relaxed)
    }
}

/// Reads the values of these groups and sessions.
async fn read_followed(db: &Db, known: &Followed) -> Result<Followed, Error> {
    let groups = numbers(known.groups.keys().copied());
    let accounts = numbers(known.tokens.keys().copied());
    let read = async move |read: &Read<'_>| {
        let groups = read.all_of(&LAST_CHANGES, &groups, &[]).await?.into_iter().collect();
        let tokens = read.all_of(&TOKENS, &accounts, &[]).await?.into_iter().collect();
        Ok(Followed { groups, tokens })
    };
    db.read(Deadline::OfRequest, read).await
}

/// Looks up the groups and sessions with followers, once a second, as long as there are any.
async fn look_up(db: Db, followers: Arc<Followers>) {
    let _task = LookUps(Arc::clone(&followers));
    let mut ticks = interval_at(Instant::now() + LOOK_UP_INTERVAL, LOOK_UP_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(known) = followers.known() else { return };
        // A failing store is reported by the requests that read from it.
        if let Ok(found) = read_followed(&db, &known).await {
            followers.compare(&known, found);
        }
    }
}
