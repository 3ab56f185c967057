//! Signing in with a key or with a one-time link, and signing out.

use http::{StatusCode, header};
use kiosque_console::sign_in::{self as view, Form, Notice, SignIn};
use kiosque_console::{Section, forward};
use kiosque_model::audit::LoginRefusal;
use kiosque_model::{ConsoleDigest, ConsoleSecret, KeyDigest, Rights};
use kiosque_store::SignInProof;

use super::cookies::{self, Lifetime};
use super::fields::Fields;
use super::origin;
use super::reply::Reply;
use super::request::SignedIn;
use super::return_path::{ReturnPath, sign_in_address};
use crate::call::Call;
use crate::failure::Failure;

/// A parameter: the browser was already asked to repeat the request with its cookies.
const AGAIN: &str = "again";
/// A parameter: the person has signed out.
const SIGNED_OUT: &str = "signed-out";

/// Shows the form for a key, or the button of a link. A signed-in person gets the page.
pub(super) async fn show(call: &Call<'_>) -> Result<Reply, Failure> {
    let query = call.fields();
    if let Some(link) = query.trimmed("link") {
        // Showing it does not consume the link, so link previews of messengers do not.
        return Ok(form(call, &query, Form::Link(&link), None));
    }
    if let Some(session) = call.session().await? {
        return Ok(Reply::see_other(&landing(&query, &session.holder().rights)));
    }
    if origin::is_from_elsewhere(call.head) && query.text(AGAIN).is_none() {
        return Ok(ask_for_cookies(call, &query));
    }
    let has_cookie = cookies::value(&call.head.headers, cookies::SESSION).is_some();
    let notice = match query.text(SIGNED_OUT) {
        Some(_) => Some(Notice::SignedOut),
        None => has_cookie.then_some(Notice::SessionEnded),
    };
    Ok(form(call, &query, Form::Key, notice))
}

/// Opens a session, replacing the browser's current one. Attempts are not limited: keys and links
/// are random, and others could reach a limit and have valid ones refused.
pub(super) async fn sign_in(call: &Call<'_>, fields: &Fields) -> Result<Reply, Failure> {
    let (app, origin) = (call.app, call.origin());
    let (proof, refusal) = presented(fields);
    // Always a new secret: a cookie planted by another person is never a session.
    let secret = ConsoleSecret::mint(app.entropy.bytes()?);
    let holder = match proof {
        Some(proof) => {
            let new = secret.digest();
            let earlier = call.cookie();
            app.store.operators().sign_in(proof, new, earlier, origin).await?
        }
        None => None,
    };
    let Some(holder) = holder else { return Ok(refuse(call, fields, refusal)) };
    let reply = Reply::see_other(&landing(fields, &holder.rights));
    Ok(reply.cookie(cookies::SESSION, secret.reveal(), Lifetime::Browser))
}

/// Returns the credential of a form, if it can be one, and the reason to record if it is refused.
fn presented(fields: &Fields) -> (Option<SignInProof>, LoginRefusal) {
    match fields.trimmed("link") {
        Some(link) => {
            let link = ConsoleDigest::of_presented(link.as_bytes());
            (link.map(SignInProof::Link), LoginRefusal::ConsoleLink)
        }
        None => {
            let key = KeyDigest::of_presented(fields.trimmed("key").unwrap_or_default().as_bytes());
            (key.map(SignInProof::Key), LoginRefusal::ConsoleKey)
        }
    }
}

/// Ends the session.
pub(super) async fn sign_out(caller: &SignedIn<'_>) -> Result<Reply, Failure> {
    caller.call.app.store.operators().sign_out(&caller.session, caller.acted_by()).await?;
    let reply = Reply::see_other(&sign_in_with(None, &format!("{SIGNED_OUT}=1")));
    Ok(reply.cookie(cookies::SESSION, "", Lifetime::Ended))
}

/// Returns the page to show after signing in: the page in the form, or the first one that the key
/// permits.
fn landing(fields: &Fields, rights: &Rights) -> String {
    let path = return_page(fields).map(|path| path.as_str().to_owned());
    path.unwrap_or_else(|| Section::first(rights).path().to_owned())
}

fn return_page(fields: &Fields) -> Option<ReturnPath> {
    fields.text("return").and_then(|path| ReturnPath::parse(&path))
}

/// Returns the address of the same sign-in, given the query of its address.
pub(super) fn same(query: &Fields) -> String {
    address(return_page(query).as_ref(), query.trimmed("link").as_deref())
}

/// Returns the address of the sign-in with a page and a link. A text that cannot be a link is left
/// out.
fn address(page: Option<&ReturnPath>, link: Option<&str>) -> String {
    match link.filter(|link| ConsoleDigest::of_presented(link.as_bytes()).is_some()) {
        Some(link) => sign_in_with(page, &format!("link={link}")),
        None => sign_in_address(page),
    }
}

/// Returns the address of the sign-in with a page and another parameter.
fn sign_in_with(page: Option<&ReturnPath>, parameter: &str) -> String {
    let separator = if page.is_some() { '&' } else { '?' };
    format!("{}{separator}{parameter}", sign_in_address(page))
}

/// Makes the browser repeat the request. It does not send its cookies with a request caused by
/// another site, but sends them with one caused by this page.
fn ask_for_cookies(call: &Call<'_>, query: &Fields) -> Reply {
    let address = sign_in_with(return_page(query).as_ref(), &format!("{AGAIN}=1"));
    let html = forward::page(call.language(), call.theme(), &address);
    Reply::page(html).with(header::REFRESH, &format!("0; url={address}"))
}

/// Records a refused attempt, and shows the form again.
fn refuse(call: &Call<'_>, fields: &Fields, refusal: LoginRefusal) -> Reply {
    call.app.refused_logins.lock().add(None, refusal, &call.origin());
    let notice = match refusal {
        LoginRefusal::ConsoleLink => Notice::LinkSpent,
        _ => Notice::KeyRefused,
    };
    form(call, fields, Form::Key, Some(notice)).with_status(StatusCode::FORBIDDEN)
}

fn form(call: &Call<'_>, fields: &Fields, form: Form<'_>, notice: Option<Notice>) -> Reply {
    let page = return_page(fields);
    let link = match form {
        Form::Key => None,
        Form::Link(link) => Some(link),
    };
    let html = view::page(&SignIn {
        language: call.language(),
        theme: call.theme(),
        return_to: page.as_ref().map_or("", ReturnPath::as_str),
        address: &address(page.as_ref(), link),
        form,
        notice,
    });
    Reply::page(html).secret().cookie(cookies::FORM, "1", Lifetime::Browser)
}
