//! Plays steps on one store and returns their results.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use kiosque_model::{
    ActedBy, Claim, DeviceCode, GroupId, LoginName, PageRequest, PresentedToken, UnixMs,
};
use kiosque_store::{
    ApplyError, ArchiveError, AuditQuery, DeleteError, Error, History, OnlineSince, OpenedSession,
    OrderQuery, Owners, ReceiveOptions, Refused, Span,
};
use kiosque_testkit::entries::first_devices;
use kiosque_testkit::{TestStore, no_owners, origin};

use super::steps::{DEVICES, Step};

const SESSION_MS: i64 = 300;

pub(crate) struct Player {
    pub(crate) fixture: TestStore,
    owners: Arc<tokio::sync::Mutex<Owners>>,
    /// The last token of each account, which may have ended.
    tokens: HashMap<&'static str, PresentedToken>,
}

impl Player {
    pub(crate) fn new(fixture: TestStore) -> Player {
        Player { fixture, owners: no_owners(), tokens: HashMap::new() }
    }

    /// No step may result in a failure of the store.
    pub(crate) async fn play(&mut self, step: Step, now: i64) -> String {
        let (store, at) = (&self.fixture.store, UnixMs(now));
        match step {
            Step::Apply(fleet) => match self.fixture.apply_at(fleet, at).await {
                Err(error @ (ApplyError::Store(_) | ApplyError::PasswordChanged)) => {
                    panic!("{error}")
                }
                applied => format!("{applied:?}"),
            },
            Step::Receive(batch) => outcome_text(
                store
                    .intake()
                    .receive(Arc::new(batch), Arc::clone(&self.owners), ReceiveOptions::at(at))
                    .await,
            ),
            Step::Archive(before) => {
                format!("{:?}", store.upkeep().archive(UnixMs(before), at).await.unwrap())
            }
            Step::ArchiveExactly(before, returning) => {
                match store.upkeep().archive_exactly(UnixMs(before), at, returning).await {
                    Err(ArchiveError::Store(error) | ArchiveError::Interrupted { error, .. }) => {
                        panic!("{error}")
                    }
                    archived => format!("{archived:?}"),
                }
            }
            Step::Delete(code) => {
                let code = DeviceCode::parse(code).unwrap();
                match store.fleet().delete_device(code, ActedBy::command(at)).await {
                    Err(DeleteError::Store(error)) => panic!("{error}"),
                    deleted => format!("{deleted:?}"),
                }
            }
            Step::Heartbeats(beats) => outcome_text(store.intake().record_heartbeats(beats).await),
            Step::WriteActivity => outcome_text(store.intake().write_activity().await),
            Step::SetRates(rates) => outcome_text(store.fleet().set_rates(rates).await),
            Step::Purge(before) => outcome_text(store.trail().purge(UnixMs(before)).await),
            Step::LogIn(name) => self.log_in(name, at).await,
            Step::Switch(name, group) => self.switch(name, group, at).await,
            Step::LogOut(name) => match self.tokens.get(name) {
                None => String::new(),
                Some(token) => answered(
                    store.sessions().log_out(claim(token, at), origin("127.0.0.1", at)).await,
                ),
            },
            Step::Look(name) => self.look(name, at).await,
        }
    }

    async fn log_in(&mut self, name: &'static str, at: UnixMs) -> String {
        let store = &self.fixture.store;
        let login_name = LoginName::parse(name).unwrap();
        let Some(credentials) = store.sessions().credentials(&login_name).await.unwrap() else {
            return "unknown".to_owned();
        };
        let end = at.plus_ms(SESSION_MS);
        let opened = store
            .sessions()
            .log_in(credentials, token_bytes(at), end, origin("192.0.2.1", at))
            .await;
        self.opened(name, opened)
    }

    async fn switch(&mut self, name: &'static str, group: &str, at: UnixMs) -> String {
        let Some(token) = self.tokens.get(name) else { return String::new() };
        let claim = claim(token, at);
        let (group, end) = (GroupId::parse(group).ok(), at.plus_ms(SESSION_MS));
        let switch = self.fixture.store.sessions().switch_group(
            claim,
            group,
            token_bytes(at),
            end,
            origin("::1", at),
        );
        let opened = switch.await;
        self.opened(name, opened)
    }

    fn opened(&mut self, name: &'static str, opened: Result<OpenedSession, Refused>) -> String {
        if let Ok(opened) = &opened {
            let token = PresentedToken::read(opened.token.reveal().as_bytes()).unwrap();
            self.tokens.insert(name, token);
        }
        answered(opened)
    }

    /// Returns the answers to a session, and the trail.
    async fn look(&self, name: &str, at: UnixMs) -> String {
        let store = &self.fixture.store;
        let ask = AuditQuery::latest(1_000);
        let trail = store.trail().entries(ask).await.unwrap();
        let trail = format!("{:?} then {:?}", trail.entries, trail.next);
        let Some(token) = self.tokens.get(name) else { return trail };
        let since = OnlineSince(at.plus_ms(-100));
        let all = first_devices(1_000);
        let devices = store.reports().device_page(claim(token, at), since, all).await;
        let devices = answered(devices.map(|(total, records)| {
            let records = records.iter().map(String::from_utf8_lossy);
            (total, records.map(String::from).collect::<Vec<_>>())
        }));
        let mut seen = vec![trail, devices];
        let page = PageRequest::new(1, 1_000).unwrap();
        for code in DEVICES {
            let device = DeviceCode::parse(code).ok();
            let odd = at.0 % 40 == 0;
            let history = if odd { History::Left } else { History::Included };
            let span = Some(Span { start: at.plus_ms(-400), end: at }).filter(|_| odd);
            let ask = OrderQuery { device, history, span, page };
            let page = store.orders().page(claim(token, at), ask).await;
            seen.push(answered(page.map(|page| {
                let records = page.newest_first().map(String::from_utf8_lossy);
                (page.total, records.map(String::from).collect::<Vec<_>>())
            })));
        }
        seen.join("\n")
    }
}

fn claim(token: &PresentedToken, now: UnixMs) -> Claim {
    Claim { token: token.clone(), now }
}

/// The same on both engines.
fn token_bytes(at: UnixMs) -> [u8; 32] {
    std::array::from_fn(|place| at.0.to_le_bytes()[place % 8])
}

fn outcome_text<T: Debug>(done: Result<T, Error>) -> String {
    format!("{:?}", done.unwrap())
}

fn answered<T: Debug>(done: Result<T, Refused>) -> String {
    match done {
        Ok(answer) => format!("{answer:?}"),
        Err(Refused::Refusal(refusal)) => format!("{refusal:?}"),
        Err(Refused::Store(error)) => panic!("{error}"),
    }
}
