//! Many callers, one session.

use std::time::Duration;

use kiosque_client::session::{Pace, SessionCounts};
use kiosque_client::{Account, Device, Error, Profile};
use kiosque_testkit::{eventually, size};
use tokio::task::JoinSet;

use super::{GROUPS, account, profile, server, timed_profile, trail};

/// AUTH-12: a thousand tasks in three groups use one login, and each sees its own group alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_tasks_in_three_groups_share_one_login() {
    let server = server().await;
    let account = account(&server, Pace::default());
    let mut tasks = JoinSet::new();
    for task in 0..size(1_000, 10_000) {
        let group = GROUPS[task % GROUPS.len()];
        let calls = account.group(group).unwrap();
        tasks.spawn(async move {
            let devices = calls.devices().await.unwrap();
            let codes: Vec<&str> = devices.iter().map(|device| device.code()).collect();
            assert_eq!(codes, [format!("{group}-1"), format!("{group}-2")]);
            // Without the filter `groupId`: another group would answer with another device.
            let mut walk = calls.orders(codes[task / GROUPS.len() % codes.len()]);
            assert!(walk.next().await.unwrap().is_some_and(|first| first.id().ends_with("-0")));
        });
    }
    tasks.join_all().await;
    let SessionCounts { log_ins, switches, replaced, .. } =
        account.session().counts().await.unwrap();
    assert_eq!((log_ins, replaced, trail(&server, "login").await), (1, 0, 1));
    assert_eq!(trail(&server, "switchGroup").await, usize::try_from(switches).unwrap());
}

/// AUTH-11: an outsider that logs in whenever the client has logged in causes no error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outsider_that_logs_in_again_and_again_causes_no_error() {
    let server = server().await;
    let hold_max = Duration::from_millis(20);
    let pace = Pace { hold_first: hold_max, hold_max, refusals_max: u32::MAX, ..Pace::default() };
    let account = account(&server, pace);
    let rounds = u64::try_from(size(10, 200)).unwrap();
    let mut tasks = JoinSet::new();
    for task in 0..12 {
        let (group, account) = (GROUPS[task % GROUPS.len()], account.clone());
        tasks.spawn(async move {
            let calls = account.group(group).unwrap();
            loop {
                let devices = calls.devices().await.unwrap();
                assert!(devices.iter().all(|device| device.code().starts_with(group)));
                if account.session().counts().await.unwrap().replaced >= rounds {
                    return;
                }
            }
        });
    }
    for round in 0..rounds {
        eventually("the client has logged in", async || {
            account.session().counts().await.unwrap().log_ins > round
        })
        .await;
        // The login was sent. Its answer, too, has arrived before this one.
        account.groups().await.unwrap();
        server.log_in("ops").await;
    }
    tasks.join_all().await;
    let counts = account.session().counts().await.unwrap();
    assert!(counts.log_ins <= 1 + counts.replaced, "{counts:?}");
}

/// AUTH-8: a wrong password is sent once, however many callers there are, and never again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_is_sent_once() {
    let server = server().await;
    let account = Account::open(profile(&server, "wrong")).unwrap();
    for _ in 0..2 {
        let calls = (0..20).map(|_| account.clone());
        let tasks: JoinSet<_> =
            calls.map(|account| async move { account.groups().await }).collect();
        for answer in tasks.join_all().await {
            let Err(Error::Refused(refusal)) = answer else { panic!("logged in") };
            assert_eq!((refusal.code, &*refusal.msg), (-2, "User name or password is wrong."));
            assert!(refusal.request_id.is_some());
        }
    }
    assert_eq!(account.session().counts().await.unwrap().log_ins, 1);
    assert_eq!(trail(&server, "loginRefused").await, 1);
}

/// ADDR-5: a server whose certificate is not trusted, and one that is away, are named with the
/// reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_connection_is_named() {
    let (mut server, other) = tokio::join!(server(), server());
    let base = format!("https://{}/v8", server.address);
    let untrusted = Profile::new(&base, "ops", "secret").unwrap();
    let untrusted = untrusted.ca_file(&other.certificate_file()).unwrap();
    let trusted = profile(&server, "secret");
    let error = async |profile: Profile| {
        let account = Account::open(profile).unwrap();
        account.groups().await.unwrap_err()
    };
    let reason = |error: Error| {
        let Error::Transport(failed) = error else { panic!("{error}") };
        assert!(failed.to.starts_with(&base), "{failed}");
        failed.cause
    };
    let cannot = format!("cannot connect to {base}: ");
    // A certificate is not verified again: it is the same one.
    let cause = reason(error(untrusted).await);
    assert!(cause.starts_with(&format!("{cannot}TLS: invalid peer certificate: ")), "{cause}");
    assert!(cause.ends_with("; if its certificate is self-signed, specify it as the CA file"));
    server.stop().await;
    let Error::GaveUp { tries: 4, last } = error(trusted).await else { panic!("no attempts") };
    let cause = reason(*last);
    assert!(cause.starts_with(&cannot) && cause.contains("Connection refused"), "{cause}");
    assert!(!cause.contains("TLS"), "{cause}");
}

/// AUTH-19, ADDR-3: a refusal reaches the calls of its group alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_that_cannot_be_selected_is_refused_alone() {
    let server = server().await;
    let account = account(&server, Pace::default());
    let east = account.group("east").unwrap();
    let south = account.group("south").unwrap();
    let (refused, devices) = tokio::join!(east.devices(), south.devices());
    let Err(Error::Refused(refusal)) = refused else { panic!("{refused:?}") };
    let message = "Group does not exist or has been deactivated";
    assert_eq!((refusal.code, &*refusal.msg, refusal.data), (-1, message, None));
    assert_eq!(devices.unwrap().len(), 2);

    let body = serde_json::json!({});
    let unknown = south.call_path("third-center-web/openapi/v1/nothing", &body).await.unwrap_err();
    assert!(unknown.is_unknown_call(), "{unknown}");
    let page = "third-center-web/openapi/v1/kioskDevice/devicePage?current=0&size=x";
    let Err(Error::Invalid(violations)) = south.call_path(page, &body).await else {
        panic!("no violations")
    };
    assert_eq!(
        violations,
        ["current must be a positive integer", "size must be a positive integer"]
    );
    assert_eq!(account.session().counts().await.unwrap().log_ins, 1);
}

/// AUTH-23: a program may continue with the session of an earlier one, in the same groups.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_session_needs_no_login() {
    let server = server().await;
    let first = Account::open(timed_profile(&server, "secret")).unwrap();
    assert_eq!(first.session().stored().await.unwrap(), None);
    first.group("south").unwrap().devices().await.unwrap();
    let stored = first.session().stored().await.unwrap();
    let text = serde_json::to_string(&stored).unwrap();
    assert!(!format!("{stored:?}").contains(&text[20..40]), "{stored:?}");

    let profile = timed_profile(&server, "wrong");
    let resumed = profile.resume(serde_json::from_str(&text).unwrap());
    let second = Account::open(resumed).unwrap();
    let device = |devices: Vec<Device>| devices[0].code().to_owned();
    let south = second.group("south").unwrap().devices().await.unwrap();
    let default = second.default_group().devices().await.unwrap();
    assert_eq!([south, default].map(device), ["south-1", "north-1"]);
    assert_eq!((trail(&server, "login").await, trail(&server, "switchGroup").await), (1, 2));
}

/// AUTH-11: a program that runs on continues with the session of another one, or without any.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_replaced_while_a_program_runs() {
    let server = server().await;
    let open = || Account::open(timed_profile(&server, "secret")).unwrap();
    let (first, second) = (open(), open());
    first.default_group().devices().await.unwrap();
    second.group("south").unwrap().devices().await.unwrap();
    let stored = second.session().stored().await.unwrap();
    first.session().resume(stored.clone()).await.unwrap();
    let south = first.group("south").unwrap().devices().await.unwrap();
    assert_eq!(south[0].code(), "south-1");
    assert_eq!((trail(&server, "login").await, trail(&server, "switchGroup").await), (2, 1));
    assert_eq!(first.session().counts().await.unwrap().replaced, 0);

    // The same again changes nothing; none at all causes a login.
    first.session().resume(stored.clone()).await.unwrap();
    assert_eq!(first.session().stored().await.unwrap(), stored);
    first.session().resume(None).await.unwrap();
    assert_eq!(first.session().stored().await.unwrap(), None);
    first.default_group().devices().await.unwrap();
    assert_eq!(trail(&server, "login").await, 3);
}
