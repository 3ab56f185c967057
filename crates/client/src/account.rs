//! An account: the session that its callers share, and retries.

mod group;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use kiosque_clock::Entropy;
use kiosque_model::GroupId;

use crate::answer::error_of;
use crate::error::Error;
use crate::profile::Profile;
use crate::retry::{self, RetryBudget};
use crate::session::{self, Called, Group, Lane, Length, Session, SessionParts};
use crate::transport::{Answer, Request};

pub use group::{
    Certificate, Change, Device, GroupClient, History, OrderChanges, OrderWalk, Position,
};

/// An account of a server. Clones share its session, so a program has one account for all its
/// tasks.
///
/// Nothing is sent before the first call, which logs in. The session is renewed before it ends and
/// when another user of the account has replaced it; callers only notice that a call takes longer.
///
/// ```no_run
/// use kiosque_client::{Account, Profile};
///
/// # async fn example() -> Result<(), kiosque_client::Error> {
/// let profile = Profile::new("https://kiosque.example.com/v8", "acme", "secret")?;
/// let account = Account::open(profile)?;
/// for group in account.groups().await? {
///     let devices = account.group(&group.id)?.devices().await?;
///     println!("{}: {} devices", group.name, devices.len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Account(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    session: Session,
    budget: RetryBudget,
    entropy: Entropy,
    /// See [`Pace::retry_first`](session::Pace::retry_first).
    retry_first: Duration,
    /// The largest page to request.
    page_max: AtomicU64,
}

impl Account {
    /// Opens an account. Nothing is sent yet.
    ///
    /// # Errors
    /// As [`Profile::into_session_parts`].
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn open(profile: Profile) -> Result<Account, Error> {
        Ok(Account::of(profile.into_session_parts()?))
    }

    /// Opens an account with the parts of its session.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn of(parts: SessionParts) -> Account {
        let budget = RetryBudget::default();
        let entropy = parts.entropy.clone();
        let retry_first = parts.pace.retry_first;
        let session = Session::start(parts);
        let page_max = AtomicU64::new(u64::MAX);
        Account(Arc::new(Shared { session, budget, entropy, retry_first, page_max }))
    }

    /// Returns the session.
    pub fn session(&self) -> &Session {
        &self.0.session
    }

    /// Returns the groups that the account may select, the default first. Logs in if there is no
    /// session.
    ///
    /// # Errors
    /// There is no session.
    pub async fn groups(&self) -> Result<Vec<Group>, Error> {
        Ok(self.0.session.grant().await?.groups.clone())
    }

    /// Returns the calls that run in a group. Nothing is sent yet: a group that the account may not
    /// select is refused with the first call.
    ///
    /// # Errors
    /// The text is not the id of a group.
    pub fn group(&self, id: &str) -> Result<GroupClient, Error> {
        let group = GroupId::parse(id);
        let group = group.map_err(|error| Error::Setup(format!("the group {id:?} {error}")))?;
        Ok(GroupClient::new(self.clone(), Lane::Group(group)))
    }

    /// Returns the calls that run in the group that a login selects.
    pub fn default_group(&self) -> GroupClient {
        GroupClient::new(self.clone(), Lane::Default)
    }

    /// Returns the size to request in place of a size: a server may allow smaller pages only, and
    /// refuse others (PAGE-4).
    pub fn page_size(&self, size: u64) -> u64 {
        size.min(self.0.page_max.load(Relaxed))
    }

    /// Returns whether a call failed because of the size of its page. Then pages have at most half
    /// that size from now on, and the call can be made again.
    pub fn is_page_too_large(&self, size: u64, error: &Error) -> bool {
        let names_size = |violation: &String| violation.starts_with("size");
        let is_refused = matches!(error, Error::Invalid(all) if all.iter().any(names_size));
        let can_shrink = is_refused && size > 1;
        if can_shrink {
            self.0.page_max.fetch_min(size / 2, Relaxed);
        }
        can_shrink
    }

    /// Ends the session, for all its users. A later call logs in again.
    ///
    /// # Errors
    /// No complete answer arrived; the session may have ended or not.
    pub async fn log_out(&self) -> Result<(), Error> {
        self.0.session.log_out().await
    }

    /// Sends a request that only reads, and retries it if the server fails. Returns an answer with
    /// HTTP 200 to 499.
    ///
    /// # Errors
    /// There is no session, or each attempt failed.
    pub async fn read(&self, lane: &Lane, request: &Request) -> Result<Answer, Error> {
        self.retry(lane, request, Length::Short).await?.ok_or_else(session::ended)
    }

    /// Sends a request that the server answers when something happens. Returns `None` if it was
    /// interrupted because calls of another group were waiting.
    ///
    /// # Errors
    /// As [`Account::read`].
    pub async fn read_long(&self, lane: &Lane, request: &Request) -> Result<Option<Answer>, Error> {
        self.retry(lane, request, Length::Long).await
    }

    async fn retry(
        &self,
        lane: &Lane,
        request: &Request,
        length: Length,
    ) -> Result<Option<Answer>, Error> {
        self.0.budget.call_made();
        let mut tries = 0;
        loop {
            tries += 1;
            let called = self.0.session.send(lane.clone(), request.clone(), length).await;
            let (error, after) = match called {
                Ok(Some(Called { answer, .. })) if answer.status >= 500 => {
                    (error_of(&answer), answer.retry_after_s())
                }
                Ok(called) => return Ok(called.map(|called| called.answer)),
                Err(error) if error.is_final() => return Err(error),
                Err(error) => (error, None),
            };
            let first = self.0.retry_first;
            let after = after.map(Duration::from_secs);
            match retry::wait(&self.0.entropy, first, tries, after) {
                Some(wait) if self.0.budget.take() => tokio::time::sleep(wait).await,
                _ => return Err(Error::gave_up(tries, error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use kiosque_contract::Endpoint;
    use kiosque_contract::endpoint::{DevicePage, LogIn, SwitchGroup};

    use super::*;
    use crate::scripted::{EMPTY, account, granted, html, json, no_answer, success};
    use crate::transport::TransportError;

    /// An HTML page is not an envelope; it is not taken for a refusal, and not requested again.
    #[tokio::test]
    async fn a_page_of_a_proxy_is_no_envelope() {
        let (account, requested) = account(|_, _| html(404));
        let Err(Error::NotAnEnvelope(page)) = account.groups().await else { panic!("no page") };
        assert_eq!((page.status, page.content_type.as_deref()), (404, Some("text/html")));
        assert_eq!(page.excerpt, "<h1>Not Found</h1>");
        assert_eq!(*requested.lock().expect("no panic"), [LogIn::PATH]);
    }

    /// Reads are retried on HTTP 5xx and without an answer, and at most three times.
    #[tokio::test]
    async fn reads_are_repeated_when_the_server_fails() {
        let failing = |answers: usize| {
            account(move |path, before| match path {
                LogIn::PATH => granted("t", "north"),
                _ if before >= answers => json(200, EMPTY),
                _ if before % 2 == 0 => html(503),
                _ => no_answer(),
            })
        };
        let (three, requested) = failing(3);
        assert_eq!(three.default_group().devices().await.expect("the fourth answer"), []);
        assert_eq!(requested.lock().expect("no panic").len(), 1 + 4);

        let (four, requested) = failing(4);
        let Err(Error::GaveUp { tries, last }) = four.default_group().devices().await else {
            panic!("an answer")
        };
        assert_eq!((tries, requested.lock().expect("no panic").len()), (4, 1 + 4));
        assert!(matches!(*last, Error::Transport(_)), "{last}");
    }

    /// A request that fails in the same way each time is sent once, and so is a login.
    #[tokio::test]
    async fn a_final_failure_is_not_repeated() {
        for failing in [LogIn::PATH, DevicePage::PATH] {
            let (account, requested) = account(move |path, _| match path {
                _ if path == failing => no_answer().map_err(|error| TransportError {
                    cause: "invalid peer certificate".to_owned(),
                    is_final: true,
                    ..error
                }),
                _ => granted("t", "north"),
            });
            let failed = account.default_group().devices().await.expect_err("no answer");
            assert_eq!(failed.to_string(), "no answer from it: invalid peer certificate");
            let sent = requested.lock().expect("no panic");
            assert_eq!(sent.iter().filter(|path| *path == failing).count(), 1, "{sent:?}");
        }
    }

    /// AUTH-3: a token that no header can have is refused with the reason, and is not shown. The
    /// login is not repeated.
    #[tokio::test]
    async fn a_token_that_cannot_be_sent_is_named() {
        let (account, requested) = account(|_, _| granted("s3cret\r\nx: y", "north"));
        let failed = account.default_group().devices().await.expect_err("no session");
        assert_eq!(
            failed.to_string(),
            "HTTP 200 with no content type is not an answer of this interface: \"the accessToken \
             of the login has a character that no header can have\""
        );
        assert_eq!(*requested.lock().expect("no panic"), [LogIn::PATH]);
    }

    /// A server that fails every call gets a fifth more requests than calls, and ten at first.
    #[tokio::test]
    async fn repetitions_have_a_budget() {
        let (account, requested) = account(|path, _| match path {
            LogIn::PATH => granted("t", "north"),
            _ => html(503),
        });
        let calls = 40;
        for _ in 0..calls {
            let failed = account.default_group().devices().await;
            assert!(matches!(failed, Err(Error::GaveUp { .. })), "{failed:?}");
        }
        let repeated = requested.lock().expect("no panic").len() - 1 - calls;
        assert!((11..=10 + calls / 5).contains(&repeated), "{repeated} repeated");
    }

    /// `Retry-After` is obeyed; a wait of more than a minute is left to the caller.
    #[tokio::test]
    async fn a_server_that_asks_for_a_long_wait_is_not_asked_again() {
        let (account, requested) = account(|path, _| match path {
            LogIn::PATH => granted("t", "north"),
            _ => html(503).map(|mut answer| {
                answer.headers.insert("retry-after", http::HeaderValue::from_static("61"));
                answer
            }),
        });
        let failed = account.default_group().devices().await;
        assert!(matches!(failed, Err(Error::GaveUp { tries: 1, .. })), "{failed:?}");
        assert_eq!(*requested.lock().expect("no panic"), [LogIn::PATH, DevicePage::PATH]);
    }

    /// REQ-4: `code` 500 over HTTP 200 is an error in the request, and repeating it does not help.
    #[tokio::test]
    async fn a_refusal_is_not_repeated() {
        let (account, requested) = account(|path, _| match path {
            LogIn::PATH => granted("t", "north"),
            _ => json(200, r#"{"code":500,"msg":"system error","data":"EOF"}"#),
        });
        let refused = account.default_group().devices().await;
        let Err(Error::Refused(refusal)) = refused else { panic!("{refused:?}") };
        assert_eq!((refusal.code, refusal.data.as_deref()), (500, Some("EOF")));
        assert_eq!(*requested.lock().expect("no panic"), [LogIn::PATH, DevicePage::PATH]);
    }

    /// ENV-11: the token is unknown after a switch without an answer, so a login follows.
    #[tokio::test]
    async fn a_lost_answer_of_a_switch_is_followed_by_a_login() {
        let (account, requested) = account(|path, before| match path {
            LogIn::PATH => granted("t", "north"),
            SwitchGroup::PATH if before == 0 => no_answer(),
            SwitchGroup::PATH => granted("u", "south"),
            _ => json(200, EMPTY),
        });
        let south = account.group("south").expect("an id");
        assert_eq!(south.devices().await.expect("an answer"), []);
        let (log_in, switch) = (LogIn::PATH, SwitchGroup::PATH);
        assert_eq!(
            *requested.lock().expect("no panic"),
            [log_in, switch, log_in, switch, DevicePage::PATH]
        );
    }

    /// A list of devices that changes between two pages is read again.
    #[tokio::test]
    async fn a_list_that_changes_is_read_again() {
        let page = |total: u64, current: u64, device: &str| {
            let records = [serde_json::json!({"deviceCode": device, "groupId": "north"})];
            success(&serde_json::json!({
                "total": total, "current": current, "size": 1, "records": records
            }))
        };
        let (account, _) = account(move |path, before| match (path, before) {
            (LogIn::PATH, _) => granted("t", "north"),
            (SwitchGroup::PATH, _) => granted("u", "south"),
            // The first device is added after the first page.
            (_, 0) => page(2, 1, "b"),
            (_, 1) => page(3, 2, "b"),
            (_, 2) => page(3, 1, "a"),
            (_, 3) => page(3, 2, "b"),
            (_, 4) => page(3, 3, "c"),
            _ => page(1, 1, "d"),
        });
        let devices = account.default_group().devices().await.expect("a list");
        let codes: Vec<&str> = devices.iter().map(|device| device.code()).collect();
        assert_eq!(codes, ["a", "b", "c"]);
        // DEV-4: the devices of an answer must belong to the group of the call, or of its filter.
        let filter = serde_json::from_str(r#"{"groupId":"north"}"#).expect("a filter");
        let south = account.group("south").expect("an id");
        assert_eq!(south.devices_matching(&filter).await.expect("a list").len(), 1);
        let Err(Error::WrongGroup { wanted, got }) = south.devices().await else {
            panic!("devices of another group")
        };
        assert_eq!((wanted.as_str(), got.as_str()), ("south", "north"));
    }

    /// An answer for another group than the requested one never reaches the caller.
    #[tokio::test]
    async fn an_answer_for_another_group_is_an_error() {
        let (account, _) = account(|path, _| match path {
            LogIn::PATH | SwitchGroup::PATH => granted("t", "north"),
            _ => json(200, EMPTY),
        });
        let Err(Error::WrongGroup { wanted, got }) =
            account.group("south").expect("an id").devices().await
        else {
            panic!("an answer")
        };
        assert_eq!((wanted.as_str(), got.as_str()), ("south", "north"));
    }
}
