//! Log in, switch group, log out (contract, "States and transitions" and "Authentication").

use kiosque_model::{GroupId, LoginName, Refusal, UnixMs};
use kiosque_store::Opened;
use kiosque_wire::{SessionData, SwitchableGroup};

use crate::answer::{Data, Failure};
use crate::app::App;
use crate::call::{Call, after_session};
use crate::form::Form;

/// `POST …/token`
pub(crate) async fn log_in(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now) = (call.app, call.now);
    let mut form = call.form()?;
    let username = form.required_text("username");
    let password = form.required_text("password");
    let (username, password) = form.finish(username.zip(password))?;

    // A text that can be no login name is refused like an unknown one, after the same work.
    let known = match LoginName::parse(username) {
        Ok(name) => app.store.credentials(&name)?,
        Err(_) => None,
    };
    let hash = known.as_ref().map(|known| known.password_hash.clone());
    let right = app.hash_slots.verify(hash, password).await?;
    let credentials = known.filter(|_| right).ok_or(Refusal::Credentials)?;

    let random = app.entropy.bytes()?;
    let opened = app.store.log_in(credentials, random, app.session_end(now)).await?;
    session_data(opened)
}

/// `POST …/switchGroup`
pub(crate) async fn switch_group(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now) = (call.app, call.now);
    let presented = call.presented(Refusal::TokenMissing)?;
    let asked = switch_asked(call);
    let group = after_session(app, now, &presented, asked)?;

    let random = app.entropy.bytes()?;
    let expires_at = app.session_end(now);
    // A text that can be no group's id names no group.
    let group = GroupId::parse(group).ok();
    session_data(app.store.switch_group(presented, group, random, now, expires_at).await?)
}

fn switch_asked(call: Call<'_>) -> Result<String, Refusal> {
    let mut form: Form = call.form()?;
    let group = form.required_text("groupId");
    form.finish(group)
}

/// `POST …/logout`
pub(crate) async fn log_out(call: Call<'_>) -> Result<Data, Failure> {
    let (app, now): (&App, UnixMs) = (call.app, call.now);
    // Whatever stands in a body that nobody asked for is nobody's concern.
    let presented = call.presented(Refusal::TokenMissing)?;
    app.store.log_out(presented, now).await?;
    Ok(Data::null())
}

fn session_data(opened: Opened) -> Result<Data, Failure> {
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
