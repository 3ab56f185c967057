//! The audit trail of the real program; and that neither it nor anything else contains a secret.

use kiosque_contract::AuditEntry;
use kiosque_testkit::{DEVICES_PATH, SERVE, Sandbox, Served, TOKEN_PATH, wait_until};

use crate::KIOSQUE;
use crate::fleet::fleet;

/// Returns the trail, the oldest entry first.
fn trail(sandbox: &Sandbox) -> Vec<AuditEntry> {
    let entries: Vec<AuditEntry> =
        serde_json::from_value(sandbox.json(&["audit", "--limit", "1000"])).unwrap();
    entries.into_iter().rev().collect()
}

/// Waits until the trail is as wanted, and returns it.
fn trail_until(sandbox: &Sandbox, wanted: impl Fn(&[AuditEntry]) -> bool) -> Vec<AuditEntry> {
    let mut now = Vec::new();
    wait_until("the trail is as wanted", || {
        now = trail(sandbox);
        wanted(&now)
    });
    now
}

fn guess(served: &Served, name: &str, password: &str) -> i64 {
    let body = format!(r#"{{"username":"{name}","password":"{password}"}}"#);
    served.connect().call(TOKEN_PATH, None, &body).code()
}

/// Refused logins are written together, about once a second and at shutdown.
#[test]
fn refused_logins_are_recorded_while_serving_and_on_stop() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let mut served = sandbox.serve();
    assert_eq!(guess(&served, "walker", "wrong"), -2);
    trail_until(&sandbox, |trail| trail.len() == 2);
    for _ in 0..5 {
        assert_eq!(guess(&served, "walker", "wrong"), -2);
    }
    assert!(served.stop().success());
    let refused = trail(&sandbox).split_off(1);
    let recorded = refused.iter().map(|one| (&*one.event, one.account.as_deref(), one.count));
    let recorded: Vec<_> = recorded.collect();
    let one = ("loginRefused", Some("walker"), 1);
    assert_eq!(recorded, [one, one, one, ("loginRefused", Some("walker"), 3)]);
}

/// `trusted_proxies` can be given as a flag, a variable, a text or a list in a file (LIM-7: the
/// source of a login).
#[test]
fn trusted_proxies_can_be_named_everywhere() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let text = sandbox.file("text.toml", "trusted_proxies = \"10.0.0.0/8, 127.0.0.1\"\n");
    let list = sandbox.file("list.toml", "trusted_proxies = [\"10.0.0.0/8\", \"127.0.0.1\"]\n");
    let (flag, variable) = ("--trusted-proxies", "KIOSQUE_TRUSTED_PROXIES");
    for (args, value, source) in [
        (&[][..], None, "127.0.0.1"),
        (&[flag, "10.0.0.0/8"], None, "127.0.0.1"),
        (&[flag, "10.0.0.0/8,127.0.0.0/8"], None, "198.51.100.7"),
        (&[], Some("127.0.0.1"), "10.1.2.3"),
        (&["--config", &text], None, "198.51.100.7"),
        (&["--config", &list], None, "198.51.100.7"),
        (&["--config", &list, flag, ""], None, "127.0.0.1"),
    ] {
        let mut command = sandbox.command(&SERVE);
        command.args(args).envs(value.map(|value| (variable, value)));
        let served = sandbox.start(&mut command);
        let body = r#"{"username":"walker","password":"secret"}"#;
        let header = "x-forwarded-for: 198.51.100.7, 10.1.2.3\r\n";
        served.connect().call_with(header, TOKEN_PATH, body).success();
        let logins = trail(&sandbox);
        let last = logins.iter().rfind(|one| one.event == "login").unwrap();
        assert_eq!(last.source.as_deref(), Some(source), "{args:?} {value:?}");
    }
}

/// The setting `audit_retention`: a server deletes older entries as soon as it starts.
#[test]
fn what_is_older_than_its_retention_is_purged() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let kept = sandbox.serve();
    assert_eq!(trail(&sandbox).len(), 1);
    drop(kept);
    let _served = sandbox.serve_with(&["--audit-retention", "1ms"]);
    trail_until(&sandbox, <[AuditEntry]>::is_empty);
}

const RIGHT: &str = "canary-right-password";
const WRONG: &str = "canary-wrong-password";
const NAME: &str = "canary-typed-as-a-name";

/// Passwords, tokens and unknown login names (people type passwords there) are stored nowhere: not
/// in the data, not in the log at debug level, not in the trail.
#[test]
fn no_secret_is_stored_or_logged() {
    let sandbox = KIOSQUE.sandbox();
    let fleet = sandbox
        .file("fleet.toml", fleet().to_string().replace("\"secret\"", &format!("{RIGHT:?}")));
    let applied = sandbox.run(&["apply", &fleet, "--log", "debug"]).success();
    let mut served = sandbox.serve_with(&["--log", "debug"]);
    let secrets = send_secrets(&served);
    trail_until(&sandbox, |trail| trail.iter().any(|one| one.account.is_none()));
    let is_stored =
        |text: &str| sandbox.files_with(text).iter().any(|path| path.starts_with(sandbox.data()));
    for secret in &secrets {
        assert!(!is_stored(secret), "{secret} is stored while the server runs");
    }
    assert!(served.stop().success());
    let output = [applied.stdout, applied.stderr, served.stdout(), served.stderr()].concat();
    let trail = format!("{:?}", trail(&sandbox));
    for secret in &secrets {
        assert!(!is_stored(secret), "{secret} is stored");
        assert!(!output.contains(secret) && !trail.contains(secret), "{secret} is printed");
    }
    // The search finds text that is there.
    assert!(is_stored("walker") && is_stored("loginRefused"));
    assert!(output.contains(" answered ") && trail.contains("limited"), "{output}\n{trail}");
}

/// Sends secrets wherever one can be sent, and returns them.
fn send_secrets(served: &Served) -> Vec<String> {
    let mut caller = served.connect();
    let mut secrets = vec![RIGHT.to_owned(), WRONG.to_owned(), NAME.to_owned()];
    for _ in 0..2 {
        let token = caller.log_in("walker", RIGHT);
        secrets.push(caller.switch(&token, "south"));
        assert_eq!(caller.call(DEVICES_PATH, Some(&token), "{}").code(), -4);
        secrets.push(token);
    }
    // From a known source and from an unknown one; within and beyond the free failures.
    for _ in 0..12 {
        assert_eq!(guess(served, "walker", WRONG), -2);
        guess(served, "guest", WRONG);
        guess(served, NAME, RIGHT);
        guess(served, RIGHT, NAME);
        guess(served, &format!("{NAME} {}", "x".repeat(80)), WRONG);
    }
    // Invalid logins and tokens contain a secret, too.
    for body in [
        format!(r#"{{"username":"{NAME}"}}"#),
        format!(r#"{{"username":["{NAME}"],"password":{{"{WRONG}":1}}}}"#),
        format!(r#"{{"username":"{NAME}","password":"{WRONG}","password":"{RIGHT}"}}"#),
        format!(r#"{{"username":"{NAME}","password":"{WRONG}"#),
    ] {
        caller.call(TOKEN_PATH, None, &body);
    }
    caller.call(DEVICES_PATH, Some(WRONG), "{}");
    secrets
}

/// Creates the devices and products that orders need.
const CREATING_MAPPING: &str = r#"
[amount]
unit = "major"
[order]
orderId = "{Id}"
deviceCode = "{Machine}"
currency = "USD"
totalAmount = "{Total}"
tradeStartTime = "{Time}"
tradeNoIn = "{Number}"
[create.device]
group = "north"
name = "{Machine}"
[line]
goodsId = "{Goods}"
salePrice = "{Total}"
[create.product]
name = "{Goods}"
"#;

/// A CSV import creates the devices and products of valid orders alone, and records no fleet when
/// it creates nothing.
#[test]
fn rejected_rows_of_a_report_create_nothing() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let mapping = sandbox.file("mapping.toml", CREATING_MAPPING);
    let import = |rows: &[String]| {
        let report = format!("Id,Machine,Total,Time,Goods,Number\n{}\n", rows.join("\n"));
        let report = sandbox.file("report.csv", report);
        sandbox.run(&["import", "orders", &report, "--map", &mapping]).counts()
    };
    let created = || {
        let is_fleet = |one: &AuditEntry| one.event == "fleetApplied";
        let entries = trail(&sandbox).into_iter().filter(is_fleet);
        // The first entry is the fleet of the sandbox.
        let details = entries.skip(1).map(|one| {
            let detail = one.detail.unwrap();
            let parts = detail.split("; ").filter(|part| !part.contains(": 0 created"));
            parts.filter(|part| part.contains("created")).collect::<Vec<_>>().join("; ")
        });
        details.collect::<Vec<_>>()
    };
    let (long, start) = ("x".repeat(65), "2026-11-01 10:00:00");
    let mut rejected = vec![
        format!("{long},ghost1,1.00,{start},ga,"),
        format!("r2,ghost2,-1.00,{start},gb,"),
        format!("r3,ghost3,1.00,{start},{long},"),
    ];
    assert_eq!(import(&rejected), [0, 0, 0, 3]);
    assert_eq!(created(), [""; 0]);
    // The name of a product that only a rejected order had is not used.
    let mixed = [&rejected[..], &[format!("a1,new,1.00,{start},tea,N1")]].concat();
    assert_eq!(import(&mixed), [1, 0, 0, 3]);
    let one = "products: 1 created, 0 changed, 0 unchanged; devices: 1 created, 0 changed, \
               0 unchanged";
    assert_eq!(created(), [one]);
    assert_eq!(import(&mixed), [0, 0, 1, 3]);
    assert_eq!(created(), [one]);
    // Rows that are rejected while they are stored, because of stored orders or of earlier lines.
    rejected = vec![
        format!("r4,ghost4,1.00,{start},gc,N1"),
        format!("a2,second,1.00,{start},milk,N2"),
        format!("r5,ghost5,1.00,{start},gd,N2"),
        format!("a1,ghost6,1.00,{start},ge,"),
        format!("r6,second,1.00,{start},gf,N1"),
    ];
    assert_eq!(import(&rejected), [1, 0, 0, 4]);
    assert_eq!(created(), [one, one]);
    assert_eq!(import(&rejected), [0, 0, 1, 4]);
    assert_eq!(created(), [one, one]);
}
