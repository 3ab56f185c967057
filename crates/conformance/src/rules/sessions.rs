//! Sessions: log in, switch group, log out, tokens.

use std::sync::LazyLock;

use kiosque_locale::Message;
use serde_json::json;

use super::scope::of_default_group;
use crate::answer::{Answer, Expected, Type, all_have_fields, has_fields, met};
use crate::ask::Ask;
use crate::credentials::Credentials;
use crate::facts::{Facts, UNKNOWN};
use crate::paths::{DEVICES, LOGIN, LOGOUT, ONLINE, SWITCH};
use crate::rule::Mark::{Contract, Kiosque};
use crate::rule::{Rule, rule};

pub(super) static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    vec![
        rule("sessions.required-fields", "AUTH-1", Contract)
            .text("Log in takes username and password, both required.")
            .ask(|_| Some(Ask::post(LOGIN).body("{}")))
            .expect(|_, answer| answer.refusal()),
        rule("sessions.log-in-ignores", "AUTH-1", Kiosque)
            .text("A login ignores a token, unknown fields, the query string and the content type.")
            .changes_session()
            .ask(|facts| Some(facts.log_in().token(UNKNOWN).query("current=0&size=x")))
            .ask(|facts| {
                Some(facts.log_in().without_headers().header("content-type", "text/plain"))
            })
            .ask(|facts| {
                let Credentials { username, password } = &facts.account;
                let body = json!({"password": password, "x": [{"y": null}], "username": username});
                Some(facts.log_in().json(&body))
            })
            .ask(|facts| Some(facts.list_devices()))
            .expect(|_, answer| answer.success().map(drop)),
        rule("sessions.data", "AUTH-2", Contract)
            .text("A login answers with accessToken, groupId, switchableGroups and expiresIn.")
            .changes_session()
            .ask(|facts| Some(facts.log_in()))
            .expect(|_, answer| session_data(answer)),
        rule("sessions.token-form", "AUTH-3", Kiosque)
            .text("The token has 64 characters of the base64url alphabet.")
            .changes_session()
            .ask(|facts| Some(facts.log_in()))
            .expect(|_, answer| {
                let token = answer.success()?["accessToken"].as_str().unwrap_or_default();
                let is_in = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
                met!(token.len() == 64 && token.bytes().all(is_in), "64 characters of base64url")
            }),
        rule("sessions.default-group", "AUTH-5", Kiosque)
            .text("A login selects the first of switchableGroups.")
            .changes_session()
            .ask(|facts| Some(facts.log_in()))
            .expect(|_, answer| {
                let data = answer.success()?;
                let first = &data["switchableGroups"][0]["groupId"];
                let is_met = !first.is_null() && *first == data["groupId"];
                met!(is_met, "groupId of the first entry of switchableGroups")
            }),
        rule("sessions.end", "AUTH-6", Contract)
            .text("expiresIn is a point in time in milliseconds.")
            .changes_session()
            .ask(|facts| Some(facts.log_in()))
            .expect(|facts, answer| {
                let end = answer.success()?["expiresIn"].as_i64().unwrap_or_default();
                // A clock may be wrong by hours; seconds, or a duration, would be wrong by decades.
                let is_met = end.abs_diff(facts.now_ms) < 400 * 86_400_000;
                met!(is_met, "expiresIn near {} milliseconds", facts.now_ms)
            }),
        rule("sessions.wrong-password", "AUTH-8", Contract)
            .text("A wrong password is answered with -2.")
            .changes_session()
            .ask(|facts| Some(facts.log_in_wrongly()))
            .expect(|_, answer| answer.refused(Message::Credentials)),
        rule("sessions.unknown-name", "AUTH-8", Kiosque)
            .text("An unknown name and a wrong password have the same answer.")
            .changes_session()
            .ask(|facts| Some(facts.log_in_wrongly()))
            .expect(|_, answer| answer.refusal())
            .ask(|facts| Some(facts.log_in_unknown()))
            .expect(|facts, answer| answer.same_as(facts.before.as_ref())),
        rule("sessions.login-replaces", "AUTH-11", Contract)
            .text("A login replaces the earlier session: its token is refused with -4.")
            .changes_session()
            .ask(|facts| Some(facts.log_in()))
            .expect(|_, answer| answer.success().map(drop))
            .ask(|facts| Some(Ask::list_devices(&facts.earlier_token)))
            .expect(|_, answer| answer.refused(Message::TokenInvalid))
            .ask(|facts| Some(facts.list_devices()))
            .expect(|_, answer| answer.success().map(drop)),
        rule("sessions.default-again", "AUTH-11", Contract)
            .text("A login selects the default group again, also after a switch.")
            .changes_session()
            .ask(|facts| Some(facts.switch(facts.other_group.as_deref()?)))
            .expect(|_, answer| answer.success().map(drop))
            .ask(|facts| Some(facts.log_in()))
            .expect(|facts, answer| {
                let default = facts.default_group.as_str();
                met!(answer.success()?["groupId"] == default, "groupId {default:?}")
            })
            .ask(|facts| Some(Ask::list_devices(&facts.earlier_token)))
            .expect(|_, answer| answer.refused(Message::TokenInvalid))
            .ask(|facts| Some(facts.list_devices()))
            .expect(of_default_group),
        rule("sessions.refused-login", "AUTH-13", Kiosque)
            .text("A refused login leaves the session as it was.")
            .changes_session()
            .ask(|facts| Some(facts.log_in_wrongly()))
            .expect(|_, answer| answer.refusal())
            .ask(|facts| Some(facts.call(ONLINE, "")))
            .expect(|_, answer| answer.success().map(drop)),
        rule("sessions.no-token", "AUTH-15", Contract)
            .text("Calls without a token are answered with -3 or -4.")
            .ask(|_| Some(Ask::post(SWITCH).body("{\"groupId\":\"x\"}")))
            .ask(|_| Some(Ask::post(LOGOUT)))
            .ask(|_| Some(Ask::post(DEVICES).body("{}")))
            .expect(|_, answer| answer.one_of([-3, -4])),
        rule("sessions.missing-token", "AUTH-15", Kiosque)
            .text("Switch group and Log out without a token are answered with -3.")
            .ask(|_| Some(Ask::post(SWITCH).body("{\"groupId\":\"x\"}")))
            .ask(|_| Some(Ask::post(LOGOUT)))
            .expect(|_, answer| answer.refused(Message::TokenMissing)),
        rule("sessions.no-token-business", "AUTH-15", Kiosque)
            .text("Business paths without a token are answered with -4.")
            .ask(|_| Some(Ask::post(DEVICES).body("{}")))
            .ask(|_| Some(Ask::post(DEVICES).body("{}").token("")))
            .expect(|_, answer| answer.refused(Message::TokenInvalid)),
        rule("sessions.wrong-token", "AUTH-16", Contract)
            .text("An altered or unknown token is answered with -4.")
            .ask(|facts| Some(Ask::list_devices(&altered(&facts.token))))
            .ask(|_| Some(Ask::list_devices(UNKNOWN)))
            .expect(|_, answer| answer.refused(Message::TokenInvalid)),
        rule("sessions.raw-token", "AUTH-14", Contract)
            .text("The header has the raw token: Bearer before it is answered with -4.")
            .ask(|facts| Some(Ask::list_devices(&format!("Bearer {}", facts.token))))
            .expect(|_, answer| answer.refused(Message::TokenInvalid)),
        rule("sessions.one-token", "AUTH-16", Kiosque)
            .text("A token that is sent twice is answered with -4.")
            .ask(|facts| Some(facts.call(ONLINE, "").token(&facts.token)))
            .expect(|_, answer| answer.refused(Message::TokenInvalid)),
        rule("sessions.hint", "AUTH-27", Kiosque)
            .text("The header kiosque-hint says where a token belongs.")
            .ask(|_| Some(Ask::post(ONLINE)))
            .expect(|_, answer| {
                met!(answer.header("kiosque-hint").is_some(), "a header kiosque-hint")
            }),
        rule("sessions.switch", "AUTH-17", Contract)
            .text("A switch selects the group, and its new token replaces the old one.")
            .changes_session()
            .ask(|facts| Some(facts.switch(facts.other_group.as_deref()?)))
            .expect(|facts, answer| {
                session_data(answer)?;
                let group = facts.other_group.as_deref().unwrap_or_default();
                met!(answer.data()["groupId"] == group, "groupId {group:?}")?;
                met!(answer.data()["accessToken"] != facts.token.as_str(), "another token")
            })
            .ask(|facts| Some(Ask::list_devices(&facts.earlier_token)))
            .expect(|_, answer| answer.refused(Message::TokenInvalid))
            .ask(|facts| Some(facts.list_devices()))
            .expect(|_, answer| answer.success().map(drop)),
        rule("sessions.switch-fields", "AUTH-17", Contract)
            .text("Switch group requires a groupId.")
            .changes_session()
            .ask(|facts| Some(facts.call(SWITCH, "{}")))
            .expect(|_, answer| {
                answer.refused(Message::GroupClosed).or_else(|_| answer.violations())
            }),
        rule("sessions.switch-to-selected", "AUTH-18", Kiosque)
            .text("A switch to the selected group succeeds and replaces the token as well.")
            .changes_session()
            .ask(|facts| Some(facts.switch(facts.group())))
            .expect(|facts, answer| {
                let data = answer.success()?;
                let group = facts.group();
                met!(data["groupId"] == group, "groupId {group:?}")?;
                met!(data["accessToken"] != facts.token.as_str(), "another token")
            })
            .ask(|facts| Some(Ask::list_devices(&facts.earlier_token)))
            .expect(|_, answer| answer.refused(Message::TokenInvalid))
            .ask(|facts| Some(facts.list_devices()))
            .expect(|_, answer| answer.success().map(drop)),
        rule("sessions.refused-switch", "AUTH-19", Contract)
            .text(
                "A switch to an unknown group is answered with -1, and the session stays as \
                 it was.",
            )
            .changes_session()
            .ask(|facts| Some(facts.switch(UNKNOWN)))
            .expect(|_, answer| answer.refused(Message::GroupClosed))
            .ask(|facts| Some(facts.list_devices()))
            .expect(|_, answer| answer.success().map(drop)),
        rule("sessions.log-out", "AUTH-21", Contract)
            .text("Log out ends the session, with data null; a second one is answered with -4.")
            .changes_session()
            .ask(|facts| Some(facts.call(LOGOUT, "")))
            .expect(|_, answer| met!(answer.success()?.is_null(), "data null"))
            .ask(|facts| Some(Ask::post(LOGOUT).token(ended(facts))))
            .ask(|facts| Some(Ask::list_devices(ended(facts))))
            .expect(|_, answer| answer.refused(Message::TokenInvalid)),
    ]
});

/// Returns the token of the session that the previous step has ended.
fn ended(facts: &Facts) -> &str {
    &facts.earlier_token
}

fn session_data(answer: &Answer) -> Expected {
    let fields = [
        ("accessToken", Type::Text),
        ("groupId", Type::Text),
        ("switchableGroups", Type::List),
        ("expiresIn", Type::Integer),
    ];
    let data = answer.success()?;
    has_fields(data, &fields)?;
    all_have_fields(&data["switchableGroups"], &[("groupId", Type::Text)]).map(drop)
}

/// Returns the token with another first character.
fn altered(token: &str) -> String {
    // Some tokens are compared case-insensitively.
    let first = if token.starts_with(['A', 'a']) { 'B' } else { 'A' };
    token.char_indices().map(|(at, c)| if at == 0 { first } else { c }).collect()
}
