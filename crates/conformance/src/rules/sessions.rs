//! Sessions: log in, switch group, log out, tokens.

use kiosque_locale::Message;

use super::rule;
use super::scope::of_default_group;
use crate::answer::{Answer, Expected, Type, all_have_fields, has_fields, met};
use crate::ask::Ask;
use crate::facts::{Facts, UNKNOWN};
use crate::paths::{DEVICES, LOGIN, LOGOUT, ONLINE, SWITCH};
use crate::rule::Rule;

pub(super) const RULES: &[Rule] = &[
    rule!(
        "sessions.required-fields",
        "AUTH-1",
        Contract,
        "Log in takes username and password, both required.",
        |_| Some(Ask::post(LOGIN).body("{}")),
        |_, answer| answer.refusal(),
    ),
    rule!(
        "sessions.data",
        "AUTH-2",
        Contract,
        ChangesSession,
        "A login answers with accessToken, groupId, switchableGroups and expiresIn.",
        |facts| Some(facts.log_in()),
        |_, answer| session_data(answer),
    ),
    rule!(
        "sessions.token-form",
        "AUTH-3",
        Kiosque,
        ChangesSession,
        "The token has 64 characters of the base64url alphabet.",
        |facts| Some(facts.log_in()),
        |_, answer| {
            let token = answer.success()?["accessToken"].as_str().unwrap_or_default();
            let is_in = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            met!(token.len() == 64 && token.bytes().all(is_in), || {
                "64 characters of base64url".to_owned()
            })
        },
    ),
    rule!(
        "sessions.default-group",
        "AUTH-5",
        Kiosque,
        ChangesSession,
        "A login selects the first of switchableGroups.",
        |facts| Some(facts.log_in()),
        |_, answer| {
            let data = answer.success()?;
            let first = &data["switchableGroups"][0]["groupId"];
            met!(!first.is_null() && *first == data["groupId"], || {
                "groupId of the first entry of switchableGroups".to_owned()
            })
        },
    ),
    rule!(
        "sessions.end",
        "AUTH-6",
        Contract,
        ChangesSession,
        "expiresIn is a point in time in milliseconds.",
        |facts| Some(facts.log_in()),
        |facts, answer| {
            let end = answer.success()?["expiresIn"].as_i64().unwrap_or_default();
            // A clock may be wrong by hours; seconds, or a duration, would be wrong by decades.
            let is_met = end.abs_diff(facts.now_ms) < 400 * 86_400_000;
            met!(is_met, || format!("expiresIn near {} milliseconds", facts.now_ms))
        },
    ),
    rule!(
        "sessions.wrong-password",
        "AUTH-8",
        Contract,
        ChangesSession,
        "A wrong password is answered with -2.",
        |facts| Some(facts.log_in_wrongly()),
        |_, answer| answer.refused(Message::Credentials),
    ),
    rule!(
        "sessions.unknown-name",
        "AUTH-8",
        Kiosque,
        ChangesSession,
        "An unknown name and a wrong password have the same answer.",
        |facts| Some(facts.log_in_wrongly()),
        |_, answer| answer.refusal(),
        |facts| Some(facts.log_in_unknown()),
        |facts, answer| answer.same_as(facts.before.as_ref()),
    ),
    rule!(
        "sessions.login-replaces",
        "AUTH-11",
        Contract,
        ChangesSession,
        "A login replaces the earlier session: its token is refused with -4.",
        |facts| Some(facts.log_in()),
        |_, answer| answer.success().map(drop),
        |facts| Some(Ask::list_devices(&facts.earlier_token)),
        |_, answer| answer.refused(Message::TokenInvalid),
        |facts| Some(facts.list_devices()),
        |_, answer| answer.success().map(drop),
    ),
    rule!(
        "sessions.default-again",
        "AUTH-11",
        Contract,
        ChangesSession,
        "A login selects the default group again, also after a switch.",
        |facts| Some(facts.switch(facts.other_group.as_deref()?)),
        |_, answer| answer.success().map(drop),
        |facts| Some(facts.log_in()),
        |facts, answer| {
            let default = facts.default_group.as_str();
            met!(answer.success()?["groupId"] == default, || format!("groupId {default:?}"))
        },
        |facts| Some(Ask::list_devices(&facts.earlier_token)),
        |_, answer| answer.refused(Message::TokenInvalid),
        |facts| Some(facts.list_devices()),
        of_default_group,
    ),
    rule!(
        "sessions.refused-login",
        "AUTH-13",
        Kiosque,
        ChangesSession,
        "A refused login leaves the session as it was.",
        |facts| Some(facts.log_in_wrongly()),
        |_, answer| answer.refusal(),
        |facts| Some(facts.call(ONLINE, "")),
        |_, answer| answer.success().map(drop),
    ),
    rule!(
        "sessions.no-token",
        "AUTH-15",
        Contract,
        "Calls without a token are answered with -3 or -4.",
        |_| Some(Ask::post(SWITCH).body("{\"groupId\":\"x\"}")),
        |_, answer| answer.one_of([-3, -4]),
        |_| Some(Ask::post(LOGOUT)),
        |_, answer| answer.one_of([-3, -4]),
        |_| Some(Ask::post(DEVICES).body("{}")),
        |_, answer| answer.one_of([-3, -4]),
    ),
    rule!(
        "sessions.missing-token",
        "AUTH-15",
        Kiosque,
        "Switch group and Log out without a token are answered with -3.",
        |_| Some(Ask::post(SWITCH).body("{\"groupId\":\"x\"}")),
        |_, answer| answer.refused(Message::TokenMissing),
        |_| Some(Ask::post(LOGOUT)),
        |_, answer| answer.refused(Message::TokenMissing),
    ),
    rule!(
        "sessions.no-token-business",
        "AUTH-15",
        Kiosque,
        "Business paths without a token are answered with -4.",
        |_| Some(Ask::post(DEVICES).body("{}")),
        |_, answer| answer.refused(Message::TokenInvalid),
        |_| Some(Ask::post(DEVICES).body("{}").token("")),
        |_, answer| answer.refused(Message::TokenInvalid),
    ),
    rule!(
        "sessions.wrong-token",
        "AUTH-16",
        Contract,
        "An altered or unknown token is answered with -4.",
        |facts| Some(Ask::list_devices(&altered(&facts.token))),
        |_, answer| answer.refused(Message::TokenInvalid),
        |_| Some(Ask::list_devices(UNKNOWN)),
        |_, answer| answer.refused(Message::TokenInvalid),
    ),
    rule!(
        "sessions.raw-token",
        "AUTH-14",
        Contract,
        "The header has the raw token: Bearer before it is answered with -4.",
        |facts| Some(Ask::list_devices(&format!("Bearer {}", facts.token))),
        |_, answer| answer.refused(Message::TokenInvalid),
    ),
    rule!(
        "sessions.one-token",
        "AUTH-16",
        Kiosque,
        "A token that is sent twice is answered with -4.",
        |facts| Some(facts.call(ONLINE, "").token(&facts.token)),
        |_, answer| answer.refused(Message::TokenInvalid),
    ),
    rule!(
        "sessions.hint",
        "AUTH-27",
        Kiosque,
        "The header kiosque-hint says where a token belongs.",
        |_| Some(Ask::post(ONLINE)),
        |_, answer| met!(answer.header("kiosque-hint").is_some(), || {
            "a header kiosque-hint".to_owned()
        }),
    ),
    rule!(
        "sessions.switch",
        "AUTH-17",
        Contract,
        ChangesSession,
        "A switch selects the group, and its new token replaces the old one.",
        |facts| Some(facts.switch(facts.other_group.as_deref()?)),
        |facts, answer| {
            session_data(answer)?;
            let group = facts.other_group.as_deref().unwrap_or_default();
            met!(answer.data()["groupId"] == group, || format!("groupId {group:?}"))?;
            met!(answer.data()["accessToken"] != facts.token.as_str(), || "another token"
                .to_owned())
        },
        |facts| Some(Ask::list_devices(&facts.earlier_token)),
        |_, answer| answer.refused(Message::TokenInvalid),
        |facts| Some(facts.list_devices()),
        |_, answer| answer.success().map(drop),
    ),
    rule!(
        "sessions.switch-fields",
        "AUTH-17",
        Contract,
        ChangesSession,
        "Switch group requires a groupId.",
        |facts| Some(facts.call(SWITCH, "{}")),
        |_, answer| answer.refused(Message::GroupClosed).or_else(|_| answer.violations()),
    ),
    rule!(
        "sessions.switch-to-selected",
        "AUTH-18",
        Kiosque,
        ChangesSession,
        "A switch to the selected group succeeds and replaces the token as well.",
        |facts| Some(facts.switch(facts.group())),
        |facts, answer| {
            let (data, group) = (answer.success()?, facts.group());
            met!(data["groupId"] == group, || format!("groupId {group:?}"))?;
            met!(data["accessToken"] != facts.token.as_str(), || "another token".to_owned())
        },
        |facts| Some(Ask::list_devices(&facts.earlier_token)),
        |_, answer| answer.refused(Message::TokenInvalid),
        |facts| Some(facts.list_devices()),
        |_, answer| answer.success().map(drop),
    ),
    rule!(
        "sessions.refused-switch",
        "AUTH-19",
        Contract,
        ChangesSession,
        "A switch to an unknown group is answered with -1, and the session stays as it was.",
        |facts| Some(facts.switch(UNKNOWN)),
        |_, answer| answer.refused(Message::GroupClosed),
        |facts| Some(facts.list_devices()),
        |_, answer| answer.success().map(drop),
    ),
    rule!(
        "sessions.log-out",
        "AUTH-21",
        Contract,
        ChangesSession,
        "Log out ends the session, with data null; a second one is answered with -4.",
        |facts| Some(facts.call(LOGOUT, "")),
        |_, answer| { met!(answer.success()?.is_null(), || "data null".to_owned()) },
        |facts| Some(Ask::post(LOGOUT).token(ended(facts))),
        |_, answer| answer.refused(Message::TokenInvalid),
        |facts| Some(Ask::list_devices(ended(facts))),
        |_, answer| answer.refused(Message::TokenInvalid),
    ),
];

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
