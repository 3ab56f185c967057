//! Log in, switch group and log out (AUTH-1 to AUTH-24).

use kiosque_contract::{LoginRequest, NoBody, SessionData, SwitchGroupRequest};
use kiosque_model::audit::LoginRefusal;
use kiosque_model::{GroupId, LoginName, Origin, Refusal};
use kiosque_store::{Credentials, OpenedSession, SourceStatus};

use crate::answer::Data;
use crate::app::App;
use crate::call::{Call, Caller, Validate};
use crate::failure::Failure;
use crate::password::{HashSlots, QueueShare};

impl Validate for LoginRequest {}
impl Validate for SwitchGroupRequest {}
impl Validate for NoBody {}

/// `POST …/token`
pub(crate) async fn log_in(
    call: Call<'_>,
    login: LoginRequest,
) -> Result<Data<SessionData>, Failure> {
    let (app, origin) = (call.app, call.origin());
    let LoginRequest { username, password } = login;

    // A text that cannot be a login name is refused like an unknown one, after the same work.
    let name = LoginName::parse(username.as_str()).ok();
    let (prefix, now) = (origin.source.prefix(), origin.at);
    let found = match &name {
        Some(name) => app.store.sessions().credentials_for(name, prefix, now).await?,
        None => None,
    };
    let account = name.filter(|_| found.is_some());
    let opened = match found {
        Some((credentials, SourceStatus::Known)) => {
            let slots = &app.known_hash_slots;
            let credentials = Some(credentials);
            open_session(app, slots, QueueShare::All, credentials, password, &origin).await
        }
        found => {
            let credentials = found.map(|(credentials, _)| credentials);
            log_in_from_unknown_source(app, &username, credentials, password, &origin).await
        }
    };
    if let Err(Failure::Refusal(refusal)) = &opened
        && let Some(error) = login_error(refusal)
    {
        app.refused_logins.lock().add(account, error, &origin);
    }
    session_data(opened?)
}

/// Logs in from a source that never logged in to the account, or to a nonexistent account.
async fn log_in_from_unknown_source(
    app: &App,
    username: &str,
    credentials: Option<Credentials>,
    password: String,
    origin: &Origin,
) -> Result<OpenedSession, Failure> {
    let prefix = origin.source.prefix();
    let mut attempt = app.login_limiter.admit(username, prefix, &app.clock).await?;
    // Sources that guess must not keep new ones out of the queue.
    let share = if attempt.is_first() { QueueShare::All } else { QueueShare::Half };
    let opened = open_session(app, &app.hash_slots, share, credentials, password, origin).await;
    if !matches!(opened, Err(Failure::Refusal(Refusal::Credentials))) {
        attempt.did_not_fail();
    }
    opened
}

async fn open_session(
    app: &App,
    slots: &HashSlots,
    share: QueueShare,
    credentials: Option<Credentials>,
    password: String,
    origin: &Origin,
) -> Result<OpenedSession, Failure> {
    let hash = credentials.as_ref().map(|known| known.password_hash.clone());
    let matches = slots.verify(hash, password, share).await?;
    let credentials = credentials.filter(|_| matches).ok_or(Refusal::Credentials)?;
    let random = app.entropy.bytes()?;
    let expires_at = app.session_end(origin.at);
    Ok(app.store.sessions().log_in(credentials, random, expires_at, origin.clone()).await?)
}

/// Returns the reason of a refused login for the audit trail; `None` for a request that could not
/// be read.
fn login_error(refusal: &Refusal) -> Option<LoginRefusal> {
    match refusal {
        Refusal::Credentials => Some(LoginRefusal::Credentials),
        Refusal::ApiNotEnabled => Some(LoginRefusal::ApiNotEnabled),
        Refusal::NoGroup => Some(LoginRefusal::NoGroup),
        Refusal::TooManyFailures { .. } => Some(LoginRefusal::Limited),
        _ => None,
    }
}

/// `POST …/switchGroup`
pub(crate) async fn switch_group(
    caller: Caller<'_>,
    request: SwitchGroupRequest,
) -> Result<Data<SessionData>, Failure> {
    let Caller { call, claim, .. } = caller;
    let (app, origin) = (call.app, call.origin());
    let random = app.entropy.bytes()?;
    let expires_at = app.session_end(origin.at);
    // A text that cannot be a group's id identifies no group.
    let group = GroupId::parse(request.group_id).ok();
    session_data(app.store.sessions().switch_group(claim, group, random, expires_at, origin).await?)
}

/// `POST …/logout`
pub(crate) async fn log_out(caller: Caller<'_>, _: NoBody) -> Result<Data<()>, Failure> {
    let Caller { call, claim, .. } = caller;
    call.app.store.sessions().log_out(claim, call.origin()).await?;
    Data::of(&())
}

fn session_data(opened: OpenedSession) -> Result<Data<SessionData>, Failure> {
    Data::of(&SessionData {
        access_token: opened.token.reveal().to_owned(),
        group_id: opened.group_id,
        switchable_groups: opened.switchable,
        expires_in: opened.expires_at.0,
    })
}
