//! `kiosque console-link`: the link is printed alone, signs in once, and is in no log.

use std::process::Command;

use kiosque_testkit::{Ran, Sandbox, Served, TOKEN_PATH, between, card};

use crate::KIOSQUE;
use crate::fleet::{fleet, order};

const LINK: [&str; 3] = ["console-link", "--key-name", "office"];

/// Runs curl on the operator's listener. Returns the response with its headers.
fn curl(sandbox: &Sandbox, args: &[&str]) -> String {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--include", "--http2", "--cacert"]);
    curl.arg(sandbox.certificate()).args(args);
    Ran::of(&mut curl).success().stdout
}

fn link(sandbox: &Sandbox, served: &Served) -> String {
    let listen = served.operator().to_string();
    let ran = sandbox.run(&[&LINK[..], &["--operator-listen", &listen]].concat()).success();
    assert_eq!(ran.stderr, "open it within a minute; it works once\n");
    let link = ran.stdout.strip_suffix('\n').unwrap().to_owned();
    let token = link.strip_prefix(&format!("https://{listen}/console/login?link=")).unwrap();
    assert_eq!(token.len(), 43, "{link}");
    link
}

#[test]
fn a_link_signs_in_once_and_no_secret_is_in_the_data_or_in_the_log() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let key = sandbox.create_key(&["office"]);
    let served = sandbox.serve_with(&["--log", "trace"]);
    let link = link(&sandbox, &served);
    let (base, token) = link.split_once("?link=").unwrap();
    let page = curl(&sandbox, &[&link]);
    assert!(page.contains(&format!("value=\"{token}\"")), "{page}");
    let post = |body: &str| {
        curl(&sandbox, &["--header", "Sec-Fetch-Site: same-origin", "--data", body, base])
    };
    let signed_in = post(&format!("link={token}"));
    assert!(signed_in.starts_with("HTTP/2 303"), "{signed_in}");
    let (_, cookie) = signed_in.split_once("__Host-kiosque=").unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let replayed = post(&format!("link={token}"));
    assert!(replayed.starts_with("HTTP/2 403"), "{replayed}");
    assert!(post(&format!("key={key}")).starts_with("HTTP/2 303"));
    assert!(post(&format!("key={key}x")).starts_with("HTTP/2 403"));
    let service = format!("https://{}/console/service", served.operator());
    let page = curl(&sandbox, &["--cookie", &format!("__Host-kiosque={cookie}"), &service]);
    assert!(page.starts_with("HTTP/2 200"), "{page}");
    let status = format!("https://{}/operator/v1/status", served.operator());
    for (key, answer) in [(key.clone(), "HTTP/2 200"), (format!("{key}x"), "HTTP/2 401")] {
        let bearer = format!("Authorization: Bearer {key}");
        assert!(curl(&sandbox, &["--header", &bearer, &status]).starts_with(answer), "{answer}");
        assert!(served.connect_operator().call_operator("/operator/v1/orders", &key, "").is_ok());
    }

    let (password, token_of_account) = try_logins(&sandbox, &served, cookie);
    let log = served.stderr();
    assert!(log.contains("/console/login"), "nothing was logged: {log}");
    assert!(log.contains(TOKEN_PATH), "the login was not logged: {log}");
    for secret in [token, cookie, &key["kqo_".len()..], password, &token_of_account] {
        assert!(!log.contains(secret), "{secret} is in the log");
        assert!(sandbox.files_with(secret).is_empty(), "{secret} is in the data");
    }
}

/// Tries to log in from the page of the call, with a password that is wrong and with one that is
/// right. Returns the wrong one, and the token that the right one gives.
fn try_logins(sandbox: &Sandbox, served: &Served, cookie: &str) -> (&'static str, String) {
    const WRONG: &str = "canary-wrong-password";
    let page = format!("https://{}/console/api/integrator/logIn", served.operator());
    let log_in = |password: &str| {
        let form = format!("username=walker&password={password}&confirm=yes");
        let cookie = format!("__Host-kiosque={cookie}");
        let sent = ["--header", "Sec-Fetch-Site: same-origin", "--cookie", &cookie];
        curl(sandbox, &[&sent[..], &["--data", &form, &page]].concat())
    };
    let refused = log_in(WRONG);
    assert!(refused.contains("&quot;code&quot;: -2") && !refused.contains(WRONG), "{refused}");
    let page = log_in("secret");
    let (_, token) = page.split_once("&quot;accessToken&quot;: &quot;").unwrap();
    (WRONG, token.split('&').next().unwrap().to_owned())
}

#[test]
fn impossible_links_are_reported() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let unknown = sandbox.run(&LINK).failure();
    let said = "kiosque: there is no active key named office; `kiosque operator-key list` prints \
                all\n";
    assert_eq!((unknown.stdout.as_str(), unknown.stderr.as_str()), ("", said));
    sandbox.create_key(&["office"]);
    let wrong = sandbox.run(&[&LINK[..], &["--server", "http://ops.example"]].concat()).failure();
    assert!(wrong.stderr.contains("is not the address of a listener"), "{}", wrong.stderr);
    let given = sandbox.run(&[&LINK[..], &["--server", "https://ops.example/"]].concat()).success();
    assert!(given.stdout.starts_with("https://ops.example/console/login?link="), "{given:?}");
    // By default the address is the one in the server's setting.
    let default = sandbox.run(&LINK).success();
    assert!(
        default.stdout.starts_with("https://127.0.0.1:8444/console/login?link="),
        "{default:?}"
    );
    sandbox.run(&["operator-key", "revoke", "office"]).success();
    sandbox.run(&LINK).failure();
}

/// A session of the console, with a new key.
pub(crate) struct Session<'s> {
    sandbox: &'s Sandbox,
    base: String,
}

impl Session<'_> {
    pub(crate) fn open<'s>(sandbox: &'s Sandbox, served: &Served) -> Session<'s> {
        let session = Session { sandbox, base: format!("https://{}/console/", served.operator()) };
        let form = format!("key={}", sandbox.create_key(&["reader"]));
        session.send("login", &["--header", "Sec-Fetch-Site: same-origin", "--data", &form]);
        session
    }

    /// Returns a page.
    pub(crate) fn ask(&self, page: &str) -> String {
        self.send(page, &[])
    }

    fn send(&self, page: &str, arguments: &[&str]) -> String {
        let cookies = self.sandbox.path("cookies");
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail", "--cacert"]);
        curl.arg(self.sandbox.certificate()).args(arguments);
        curl.arg("--cookie").arg(&cookies).arg("--cookie-jar").arg(&cookies);
        Ran::of(curl.arg(format!("{}{page}", self.base))).success().stdout
    }
}

/// Intake shows the last lines that an import rejected, with card numbers masked. The page of an
/// order shows the import that it came with.
#[test]
fn the_console_shows_an_import_and_the_lines_that_it_rejected() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let lines = (1..=60).map(|at| {
        format!("{{\"orderId\":\"r{at}\",\"cardNumber\":\"4111111111119876\",\"count\":{at}}}\n")
    });
    let file = sandbox.file("orders.ndjson", lines.collect::<String>() + &order("1"));
    let imported = sandbox.run(&["import", "orders", &file]);
    assert_eq!(imported.counts(), [1, 0, 0, 60], "{imported:?}");
    let served = sandbox.serve();
    let console = Session::open(&sandbox, &served);
    let page = console.ask("intake");
    let rejected = card(&page, "rejected");
    assert_eq!(between(rejected, "<code>", "</code>")[..2], ["r60", "r59"], "{rejected}");
    assert!(rejected.contains("<td>import 1</td>") && rejected.contains("deviceCode"), "{page}");
    assert!(!page.contains("41111111"), "{page}");
    let page = console.ask("orders/north/1");
    let source = card(&page, "source");
    for value in ["<dd>1</dd>", &format!("<dd>{file}</dd>"), "Started"] {
        assert!(source.contains(value), "{value} is not in {source}");
    }
}
