//! `/console/api`: the reference of the calls, and the forms to try them.
//!
//! A call that is tried does not use the network: the router of its listener answers it in this
//! process, so that it is checked, counted and limited like any other. Secrets of a form are passed
//! on, but neither stored, logged nor sent back.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::uri::Authority;
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{Either, Full};
use kiosque_console::api::{
    self as view, Answered, CallPage, Document, Form, Outcome, Trial, control,
};
use kiosque_contract::{GATEWAY_PREFIX, LoginRequest, TOKEN_HEADER};
use kiosque_listener::Content;
use kiosque_openapi::reference::CallReference;
use kiosque_openapi::{integrator, operator as operator_document};
use kiosque_store::Oversight;

use super::fields::Fields;
use super::origin;
use super::reply::Reply;
use super::request::SignedIn;
use super::return_path::encoded;
use crate::call::FORWARDED_HEADER;
use crate::failure::Failure;
use crate::operator::Proof;
use crate::{operator, router};

/// The maximum size of an answer that a page shows.
const SHOWN_MAX_BYTES: usize = 16 << 10;
const HTTPS_PORT: u16 = 443;

/// Lists the calls of both documents.
pub(super) fn list(caller: &SignedIn<'_>, _: Oversight<'_>) -> Result<Reply, Failure> {
    Ok(Reply::page(view::page(&caller.frame())))
}

/// Returns the document with a file name.
pub(super) fn file(caller: &SignedIn<'_>, _: Oversight<'_>, name: &str) -> Result<Reply, Failure> {
    let named = Document::ALL.iter().find(|document| document.file() == name);
    let document = *named.ok_or_else(Failure::not_found)?;
    let server = server(caller, document);
    let document = match document {
        Document::Integrators => integrator::document(&server),
        Document::Operator => operator_document::document(&server),
    };
    Ok(Reply::file(name, "application/json", format!("{document:#}")))
}

/// Shows a call, which is identified by the code of its document and its id.
pub(super) fn one(
    caller: &SignedIn<'_>,
    _: Oversight<'_>,
    path: (&str, &str),
) -> Result<Reply, Failure> {
    let (document, call) = named(path)?;
    Ok(shown(caller, document, call, Trial::default()))
}

/// Runs a call with the fields of its form, and shows the answer.
pub(super) async fn try_call(
    caller: &SignedIn<'_>,
    _: Oversight<'_>,
    path: (&str, &str),
    fields: &Fields,
) -> Result<Reply, Failure> {
    let (document, call) = named(path)?;
    let form = Form::of(document, call).ok_or(Failure::Method("GET, HEAD"))?;
    let outcome = if form.needs_confirmation() && fields.text(control::CONFIRM).is_none() {
        Outcome::NotConfirmed
    } else {
        let response = Box::pin(sent(caller, call, form, fields)).await?;
        Outcome::Answered(read(response).await)
    };
    let names = call.query.iter().map(|field| field.name.as_str()).chain([control::BODY]);
    let given = names.filter_map(|name| Some((name.to_owned(), fields.text(name)?)));
    let trial = Trial { given: given.collect(), outcome: Some(outcome) };
    // The answer may contain a token.
    Ok(shown(caller, document, call, trial).secret())
}

fn named((document, call): (&str, &str)) -> Result<(Document, &'static CallReference), Failure> {
    let document: Document = document.parse().map_err(|_| Failure::not_found())?;
    Ok((document, document.call(call).ok_or_else(Failure::not_found)?))
}

fn shown(caller: &SignedIn<'_>, document: Document, call: &CallReference, trial: Trial) -> Reply {
    let server = &server(caller, document);
    Reply::page(view::call_page(&caller.frame(), &CallPage { document, call, server, trial }))
}

/// Answers the call of a form.
async fn sent(
    caller: &SignedIn<'_>,
    call: &CallReference,
    form: Form,
    fields: &Fields,
) -> Result<Response<Content>, Failure> {
    let names = call.query.iter().map(|field| &field.name);
    let query = names.filter_map(|name| Some(format!("{name}={}", encoded(&fields.text(name)?))));
    let query = query.collect::<Vec<_>>().join("&");
    let body = match form {
        Form::Read => Vec::new(),
        Form::LogIn => {
            let username = fields.text(control::USERNAME).unwrap_or_default();
            // Spaces around a password belong to it.
            let password = fields.all(control::PASSWORD).pop().unwrap_or_default();
            let body = serde_json::to_vec(&LoginRequest { username, password });
            body.map_err(|error| Failure::internal(&error))?
        }
        Form::Session | Form::Business => fields.text(control::BODY).unwrap_or_default().into(),
    };
    let prefix = if form == Form::Read { "" } else { GATEWAY_PREFIX };
    let mut request = Request::new(Either::Right(Full::new(Bytes::from(body))));
    let uri = format!("{prefix}{}?{query}", call.path).parse();
    *request.uri_mut() = uri.map_err(|error: http::uri::InvalidUri| Failure::internal(&error))?;
    let headers = request.headers_mut();
    for proxies in caller.call.head.headers.get_all(FORWARDED_HEADER) {
        headers.append(FORWARDED_HEADER, proxies.clone());
    }
    if let Some(token) = fields.trimmed(control::TOKEN) {
        let token = HeaderValue::from_str(&token);
        let mut token = token
            .map_err(|_| Failure::bad_form(&"the token has characters that no header can have"))?;
        token.set_sensitive(true);
        headers.insert(TOKEN_HEADER, token);
    }
    let app = Arc::clone(caller.call.app);
    let peer = caller.call.peer;
    Ok(match form {
        Form::Read => {
            let proof = Proof::Session(caller.session.holder().clone());
            operator::answer(app, request, peer, proof).await
        }
        Form::LogIn | Form::Session | Form::Business => {
            *request.method_mut() = Method::POST;
            router::answer(app, request, peer).await
        }
    })
}

/// Reads an answer, or its beginning.
async fn read(response: Response<Content>) -> Answered {
    let (head, content) = response.into_parts();
    let (bytes, is_whole) = content.beginning(SHOWN_MAX_BYTES).await;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = head.headers.iter();
    let headers = headers.map(|(name, value)| (name.to_string(), text(value.as_bytes())));
    let body = text(&bytes);
    let body = match is_whole {
        true => body,
        // The end may be a part of a character.
        false => body.trim_end_matches(char::REPLACEMENT_CHARACTER).to_owned(),
    };
    let cut_at = (!is_whole).then_some(bytes.len());
    Answered { status: head.status.to_string(), headers: headers.collect(), body, cut_at }
}

/// Returns the base URL of a document's calls, with the host that the person uses.
fn server(caller: &SignedIn<'_>, document: Document) -> String {
    let host = origin::host(caller.call.head).and_then(|host| host.parse().ok());
    match document {
        Document::Operator => operator_server(host.as_ref()),
        Document::Integrators => {
            integrator_server(caller.call.app.gateway_address.get(), host.as_ref())
        }
    }
}

fn operator_server(host: Option<&Authority>) -> String {
    match host.filter(|host| is_plain(host.as_str())) {
        Some(host) => format!("https://{host}"),
        None => operator_document::DEFAULT_SERVER.to_owned(),
    }
}

/// Returns the base URL of the listener at an address. One that listens on every address is reached
/// by the host that the person uses.
fn integrator_server(address: Option<&SocketAddr>, host: Option<&Authority>) -> String {
    let host = host.map(Authority::host).filter(|host| is_plain(host));
    let authority = match (address, host) {
        (Some(address), Some(host)) if address.ip().is_unspecified() => match address.port() {
            HTTPS_PORT => host.to_owned(),
            port => format!("{host}:{port}"),
        },
        (Some(address), _) if !address.ip().is_unspecified() => address.to_string(),
        _ => return integrator::DEFAULT_SERVER.to_owned(),
    };
    format!("https://{authority}{GATEWAY_PREFIX}")
}

/// Returns whether a host can be part of a command without quoting.
fn is_plain(host: &str) -> bool {
    host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_url_is_the_address_or_else_the_host_with_its_port() {
        let of = |address: &str, host: &str| {
            let address = address.parse().ok();
            integrator_server(address.as_ref(), host.parse().ok().as_ref())
        };
        assert_eq!(of("127.0.0.1:8443", "ops.example:8444"), "https://127.0.0.1:8443/v8");
        assert_eq!(of("0.0.0.0:8443", "ops.example:8444"), "https://ops.example:8443/v8");
        assert_eq!(of("[::]:443", "ops.example"), "https://ops.example/v8");
        assert_eq!(of("[::]:8443", "[::1]:8444"), "https://[::1]:8443/v8");
        for (address, host) in [("", "ops.example"), ("0.0.0.0:1", "a'b"), ("0.0.0.0:1", "")] {
            assert_eq!(of(address, host), integrator::DEFAULT_SERVER, "{address} {host}");
        }
        let operator = |host: &str| operator_server(host.parse().ok().as_ref());
        assert_eq!(operator("ops.example:8444"), "https://ops.example:8444");
        for host in ["user@host", "$(x)", ""] {
            assert_eq!(operator(host), operator_document::DEFAULT_SERVER, "{host}");
        }
    }
}
