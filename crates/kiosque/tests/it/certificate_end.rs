//! A certificate that ends soon or has ended is warned of, and its end is a metric.

use std::time::{SystemTime, UNIX_EPOCH};

use kiosque_model::UnixMs;
use kiosque_server::self_signed;
use kiosque_testkit::{Sandbox, wait_until};

use crate::KIOSQUE;
use crate::fleet::fleet;
use crate::shell;

const DAY_MS: i64 = 86_400_000;
const YEAR_MS: i64 = 366 * DAY_MS;

fn now() -> UnixMs {
    #[expect(clippy::disallowed_methods, reason = "the server under test reads the system clock")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    UnixMs(i64::try_from(now.as_millis()).unwrap())
}

/// Returns a sandbox with a self-signed certificate that was generated some days ago.
fn with_certificate_of(days_ago: i64) -> Sandbox {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    self_signed(&sandbox.data(), now().plus_ms(-days_ago * DAY_MS)).unwrap();
    sandbox
}

fn warnings(said: &str) -> Vec<&str> {
    said.lines().filter(|line| line.contains("WARN")).collect()
}

#[test]
fn an_expired_certificate_is_warned_of_once() {
    let sandbox = with_certificate_of(3_700);
    let served = sandbox.serve();
    let said = served.stderr_until("the certificate has expired");
    let [warning] = warnings(&said)[..] else { panic!("{said}") };
    for part in ["tls/cert.pem", "names=\"localhost, 127.0.0.1, ::1\"", " UTC"] {
        assert!(warning.contains(part), "{warning}");
    }
    let metrics = shell::get(&served, "/metrics").1;
    let end = metrics.lines().find_map(|line| {
        line.strip_prefix("kiosque_certificate_not_after_seconds ")?.parse::<i64>().ok()
    });
    let end = end.unwrap();
    assert!(end < now().0 / 1_000 && end > now().0 / 1_000 - 100 * 86_400, "{end}");
}

/// A certificate in use is warned of from 30 days before its end, and the next one is named when it
/// is loaded.
#[test]
fn a_certificate_that_ends_soon_is_warned_of_until_it_is_renewed() {
    // Ten years have 3,652 or 3,653 days, and the period begins up to four days before.
    let sandbox = with_certificate_of(3_630);
    let served = sandbox.serve();
    let said = served.stderr_until("the certificate expires soon");
    let [warning] = warnings(&said)[..] else { panic!("{said}") };
    let (_, days) = warning.split_once("days_left=").unwrap();
    let days: i64 = days.split_whitespace().next().unwrap().parse().unwrap();
    assert!((15..=24).contains(&days), "{warning}");

    let renewed = with_certificate_of(0);
    for name in ["tls/key.pem", "tls/cert.pem"] {
        std::fs::copy(renewed.data().join(name), sandbox.path("moving")).unwrap();
        std::fs::rename(sandbox.path("moving"), sandbox.data().join(name)).unwrap();
    }
    served.signal("HUP");
    let loaded = |said: &str| {
        let lines = said.lines().filter(|line| line.contains("the certificate was reloaded"));
        let mut ends = lines.filter_map(|line| Some((line.split_once("valid_until=\"")?.1, line)));
        let is_new = |end: &str| end[..4].parse::<i64>().unwrap() > 1970 + 5 + now().0 / YEAR_MS;
        ends.find(|(end, _)| is_new(end)).map(|(_, line)| line.to_owned())
    };
    wait_until("the new one is loaded", || loaded(&served.stderr()).is_some());
    let line = loaded(&served.stderr()).unwrap();
    for part in ["names=\"localhost, 127.0.0.1, ::1\"", "tls/cert.pem"] {
        assert!(line.contains(part), "{line}");
    }
    served.connect().log_in("walker", "secret");
}
