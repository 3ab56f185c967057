//! Log in, Switch group and Log out (AUTH-1 to AUTH-24 in `docs/interface.md`).

use kiosque_contract::{SessionData, SwitchableGroup};
use kiosque_model::audit::LoginFault;
use kiosque_model::{GroupId, LoginName, Origin, Refusal};
use kiosque_store::{Credentials, OpenedSession, SourceStatus};

use crate::answer::{Data, Failure};
use crate::app::App;
use crate::call::{Call, after_session};
use crate::form::Form;
use crate::password::HashSlots;

/// `POST …/token`
pub(crate) async fn log_in(call: Call<'_>) -> Result<Data, Failure> {
    let (app, origin) = (call.app, call.origin());
    let mut form = call.form()?;
    let username = form.required_text("username");
    let password = form.required_text("password");
    let (username, password) = form.finish(username.zip(password))?;

    // A text that can be no login name is refused like an unknown one, after the same work.
    let name = LoginName::parse(username.as_str()).ok();
    let (place, now) = (origin.source.place(), origin.at);
    let found = match &name {
        Some(name) => app.store.credentials_for(name, place, now).await?,
        None => None,
    };
    let account = name.filter(|_| found.is_some());
    let opened = match found {
        Some((credentials, SourceStatus::Known)) => {
            let slots = &app.known_hash_slots;
            compared(app, slots, Some(credentials), password, &origin).await
        }
        found => {
            let credentials = found.map(|(credentials, _)| credentials);
            stranger(app, &username, credentials, password, &origin).await
        }
    };
    if let Err(Failure::Refusal(refusal)) = &opened
        && let Some(fault) = fault_of(refusal)
    {
        app.trail.refusals().add(account, fault, &origin);
    }
    session_data(opened?)
}

/// A login from a source that never logged in to the account, or to an account that does not
/// exist.
async fn stranger(
    app: &App,
    username: &str,
    credentials: Option<Credentials>,
    password: String,
    origin: &Origin,
) -> Result<OpenedSession, Failure> {
    let mut attempt = app.gate.pass(username, origin.source.place(), &app.clock).await?;
    let opened = compared(app, &app.hash_slots, credentials, password, origin).await;
    if !matches!(opened, Err(Failure::Refusal(Refusal::Credentials))) {
        attempt.did_not_fail();
    }
    opened
}

async fn compared(
    app: &App,
    slots: &HashSlots,
    credentials: Option<Credentials>,
    password: String,
    origin: &Origin,
) -> Result<OpenedSession, Failure> {
    let hash = credentials.as_ref().map(|known| known.password_hash.clone());
    let right = slots.verify(hash, password).await?;
    let credentials = credentials.filter(|_| right).ok_or(Refusal::Credentials)?;
    let random = app.entropy.bytes()?;
    let expires_at = app.session_end(origin.at);
    Ok(app.store.log_in(credentials, random, expires_at, origin.clone()).await?)
}

/// What the trail says of a refusal; a request that is no login at all is not told.
fn fault_of(refusal: &Refusal) -> Option<LoginFault> {
    match refusal {
        Refusal::Credentials => Some(LoginFault::Credentials),
        Refusal::ApiNotEnabled => Some(LoginFault::ApiNotEnabled),
        Refusal::NoGroup => Some(LoginFault::NoGroup),
        Refusal::TooManyFailures { .. } => Some(LoginFault::Limited),
        _ => None,
    }
}

/// `POST …/switchGroup`
pub(crate) async fn switch_group(call: Call<'_>) -> Result<Data, Failure> {
    let (app, origin) = (call.app, call.origin());
    let presented = call.presented(Refusal::TokenMissing)?;
    let asked = switch_asked(call);
    let group = after_session(app, origin.at, &presented, asked).await?;

    let random = app.entropy.bytes()?;
    let expires_at = app.session_end(origin.at);
    // A text that can be no group's id names no group.
    let group = GroupId::parse(group).ok();
    session_data(app.store.switch_group(presented, group, random, expires_at, origin).await?)
}

fn switch_asked(call: Call<'_>) -> Result<String, Refusal> {
    let mut form: Form = call.form()?;
    let group = form.required_text("groupId");
    form.finish(group)
}

/// `POST …/logout`
pub(crate) async fn log_out(call: Call<'_>) -> Result<Data, Failure> {
    let app = call.app;
    // Whatever stands in a body that nobody asked for is nobody's concern.
    let presented = call.presented(Refusal::TokenMissing)?;
    app.store.log_out(presented, call.origin()).await?;
    Ok(Data::null())
}

fn session_data(opened: OpenedSession) -> Result<Data, Failure> {
    let switchable_groups = opened
        .switchable
        .into_iter()
        .map(|group| SwitchableGroup { group_id: group.group_id, group_name: group.group_name })
        .collect();
    Data::of(&SessionData {
        access_token: opened.token.reveal().to_owned(),
        group_id: opened.group_id,
        switchable_groups,
        expires_in: opened.expires_at.0,
    })
}
