//! The server that every refusal is tested on, with a token of every kind.

use std::time::Duration;

use kiosque_testkit::{
    Connection, DEVICES_PATH, FleetToml, LOGOUT_PATH, OrderLine, TOKEN_PATH, TestRequest,
    TestServer,
};

const NO_GROUPS: &[&str] = &[];

pub(super) fn fleet() -> FleetToml {
    FleetToml::new()
        .group("north", "North")
        .group("south", "South")
        .group("shut", "Shut")
        .with("active = false")
        .group("closing", "Closing")
        .group("foreign", "Foreign")
        .account("ops", &["north", "south", "shut"])
        .with("display_name = \"Operations\"")
        .account("disabled", &["north"])
        .with("enabled = false")
        .no_api_account("no-api", &["north"])
        .no_api_account("no-api-no-group", NO_GROUPS)
        .no_api_account("no-api-disabled", &["north"])
        .with("enabled = false")
        .account("no-group", NO_GROUPS)
        .account("only-shut", &["shut"])
        .account("stale", &["north", "south"])
        .account("expired", &["north"])
        .account("out", &["north"])
        .account("guessed", &["north"])
        .account("closed", &["closing", "north"])
        .account("revoked", &["south", "north"])
        .device("N-1", "North one", "north")
        .device("N-2", "North two", "north")
        .device("S-1", "South one", "south")
        .device("F-1", "Foreign one", "foreign")
}

/// Rights that are withdrawn after the sessions that lose them were opened.
const LATER: &str = r#"
    [[group]]
    id = "closing"
    active = false
    [[account]]
    login_name = "revoked"
    groups = ["north"]
"#;

/// The token that a call sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Of a live session of `ops` in the group `north`.
    Live,
    Missing,
    Empty,
    /// Well formed, and never issued.
    Unknown,
    ReplacedByLogin,
    ReplacedBySwitch,
    LoggedOut,
    /// Its session ends at the present millisecond (AUTH-6).
    ExpiredNow,
    /// With its last character changed.
    Altered,
    /// With the number of another account in it.
    OfAnotherAccount,
    LowerCase,
    Truncated,
    Padded,
    Bearer,
    Quoted,
    /// The valid one, twice.
    Twice,
    /// The valid one, then an invalid one.
    GoodThenBad,
    /// An empty one, then the valid one.
    BadThenGood,
    /// The valid one twice in one header, as a gateway may join two.
    Joined,
    Garbage,
    /// Within the limit of the headers.
    Long,
    NotAscii,
    /// Of a live session whose group was deactivated.
    GroupDeactivated,
    /// Of a live session whose group was taken from the account.
    GroupRevoked,
}

pub(super) struct Setup {
    pub(super) server: TestServer,
    live: String,
    known: Vec<(Token, String)>,
}

impl Setup {
    pub(super) async fn new() -> Setup {
        let server = TestServer::start(fleet()).await;
        server.import_valid(orders()).await;
        let mut known = vec![(Token::ExpiredNow, server.log_in("expired").await.token)];
        server.advance(Duration::from_secs(3_600));
        let live = server.log_in("ops").await.token;
        let first = server.log_in("stale").await.token;
        let second = server.log_in("stale").await.token;
        server.switch(&second, "south").await;
        known.push((Token::ReplacedByLogin, first));
        known.push((Token::ReplacedBySwitch, second));
        let out = server.log_in("out").await.token;
        assert_eq!(server.call(LOGOUT_PATH, Some(&out), "").await.code(), 200);
        known.push((Token::LoggedOut, out));
        known.push((Token::GroupDeactivated, server.log_in("closed").await.token));
        known.push((Token::GroupRevoked, server.log_in("revoked").await.token));
        server.apply(LATER).await.unwrap();
        server.advance(Duration::from_secs(3_600));
        for name in ["guessed", "guessed absent"] {
            let body = format!(r#"{{"username":"{name}","password":"a guess"}}"#);
            for _ in 0..server.settings.limits.login_failures_free {
                assert_eq!(server.call(TOKEN_PATH, None, &body).await.code(), -2);
            }
        }
        Setup { server, live, known }
    }

    /// Returns whether the live session is still live.
    pub(super) async fn is_live(&self, line: &mut Connection) -> bool {
        let ask = TestRequest::to(DEVICES_PATH).token(&self.live);
        ask.send_on(line, &self.server).await.data()["total"] == 2
    }

    /// Returns the values of the header.
    pub(super) fn values(&self, token: Token) -> Vec<Vec<u8>> {
        let live = self.live.clone();
        let value = match token {
            Token::Missing => return Vec::new(),
            Token::Twice => return vec![live.clone().into(), live.into()],
            Token::GoodThenBad => return vec![live.into(), b"x".to_vec()],
            Token::BadThenGood => return vec![Vec::new(), live.into()],
            Token::Live => live,
            Token::Empty => String::new(),
            Token::Unknown => "A".repeat(64),
            Token::Altered => altered(&live),
            // The account's number is in the first eight bytes.
            Token::OfAnotherAccount => format!("AAAAAAAAAAI{}", &live[11..]),
            Token::LowerCase => live.to_ascii_lowercase(),
            Token::Truncated => live[..63].to_owned(),
            Token::Padded => format!("{live}="),
            Token::Bearer => format!("Bearer {live}"),
            Token::Quoted => format!("\"{live}\""),
            Token::Joined => format!("{live}, {live}"),
            Token::Garbage => "%00 {}".to_owned(),
            Token::Long => "A".repeat(20_000),
            Token::NotAscii => "é".repeat(32),
            _ => {
                let known = self.known.iter().find(|(kind, _)| *kind == token);
                known.unwrap().1.clone()
            }
        };
        vec![value.into_bytes()]
    }
}

fn altered(token: &str) -> String {
    let last = if token.ends_with('A') { 'B' } else { 'A' };
    format!("{}{last}", &token[..63])
}

/// An order of each device, and a second one of `N-1`.
fn orders() -> String {
    let order = |(id, device)| {
        OrderLine::new(format!("O-{id}"), device, "2026-03-01 12:00:00")
            .amount("EUR", 150)
            .with("tradeNo", format!("T-{id}"))
            .with("tradeNoIn", format!("I-{id}"))
            .to_string()
    };
    [("N-1", "N-1"), ("N-1b", "N-1"), ("S-1", "S-1"), ("F-1", "F-1")].map(order).concat()
}
