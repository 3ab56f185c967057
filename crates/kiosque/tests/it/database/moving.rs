//! `kiosque move`: the data of a directory is taken over, also after a move that was killed.

use std::path::Path;
use std::process::Command;

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::{DEVICES_PATH, Ran, SUMMARY_PATH, Served, TOKEN_PATH, size, sql, wait_until};

use super::{UNHURRIED, address, create_data, fleet, log_in, node, order, order_id};
use crate::pages::answers;
use crate::{KIOSQUE, shell};

/// Starts a move, ends it by a signal while the database holds it, and returns how many orders had
/// been copied by then.
fn end_when_held(server: &Server, moving: &mut Command, signal: &str) -> usize {
    let mut moving = Served::spawn(moving, Path::new(""));
    wait_until("the database holds the move", || server.sql(&sql("held")).unwrap() == "1");
    moving.signal(signal);
    let status = moving.wait();
    if signal == "INT" {
        assert_eq!(status.code(), Some(130), "{}", moving.stderr());
        moving.stderr_until(" remains the data in use until the move is complete; ");
        moving.stderr_until("repeat the command to begin it again\n");
    }
    server.sql(&sql("end_held")).unwrap();
    wait_until("its session ends", || server.sql(&sql("held")).unwrap() == "0");
    server.sql(&sql("orders_stored")).unwrap().parse().unwrap()
}

/// A move that is killed leaves a database that nothing opens. The next one begins again, and its
/// result is verified. Sessions continue (AUTH-23).
#[test]
fn a_killed_move_begins_again() {
    let orders = size(20_000, 1_000_000);
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    sandbox.import((0..orders).map(|at| order("m", at)).collect::<String>());
    let served = sandbox.serve();
    let token = log_in(&mut served.connect(), "guest");
    let before = (orders <= 20_000).then(|| answers(&served, &token));
    drop(served);

    let server = Server::start(Durability::Full).unwrap();
    let node = node(&[&server]);
    let move_it = || sandbox.command(&["move", "--store", &address(&[&server])]);
    let try_it = || Ran::of(move_it().arg("--dry-run")).success().stdout;
    let tried = try_it();
    let all = format!(" would be moved: {orders} orders and 1 session of 1 group\n");
    assert!(tried.ends_with(&all), "{tried}");
    assert!(node.run(&["verify"]).failure().stderr.contains("has no data"));
    // Orders are copied device by device: one of the first device's, one of the second's, and
    // neither among the first few thousand.
    let (first, second) = (order_id("m", orders / 4), order_id("m", orders / 4 + 1));
    let hold = sql("hold_move").replace("FIRST_ORDER", &first).replace("SECOND_ORDER", &second);
    server.sql(&hold).unwrap();
    let copied = ["KILL", "INT"].map(|signal| end_when_held(&server, &mut move_it(), signal));
    assert!(0 < copied[0] && copied[0] < copied[1] && copied[1] < orders, "{copied:?}");
    for half in [node.run(&["verify"]), node.run(&["serve"])] {
        let refused = "a move into this database is not finished; repeat `kiosque move`";
        assert!(half.failure().stderr.contains(refused));
    }
    assert_eq!(try_it(), tried);
    let moved = Ran::of(&mut move_it()).success().stdout;
    println!("killed with {copied:?} orders copied; {moved}");
    let rows = tried.lines().last().and_then(|line| line.split(' ').next()).unwrap();
    let all = format!(
        "moved {rows} rows: {orders} orders and 1 session, the same on both sides in each of 1 \
         group\n"
    );
    assert_eq!(moved, all);

    let refused = sandbox.run(&["verify"]).failure().stderr;
    assert!(refused.contains("this data was moved to a database"), "{refused}");
    node.verified();
    // The session continues, and all answers are as before.
    let served = node.serve_with(&UNHURRIED);
    if let Some(before) = before {
        assert!(answers(&served, &token) == before);
    }
}

/// Directory and database are never both open: a move that stops after closing the directory leaves
/// neither, and repeating it opens the database.
#[test]
fn a_move_that_stops_before_it_opens_the_database_is_ended_by_a_repetition() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    sandbox.import((0..40).map(|at| order("m", at)).collect::<String>());
    let served = sandbox.serve();
    let token = log_in(&mut served.connect(), "guest");
    let before = answers(&served, &token);
    drop(served);

    let server = Server::start(Durability::Full).unwrap();
    let node = node(&[&server]);
    let move_it = || sandbox.run(&["move", "--store", &address(&[&server])]);
    server.sql(&sql("refuse_to_open")).unwrap();
    let stopped = move_it().failure().stderr;
    assert!(stopped.contains("refused for a test"), "{stopped}");
    server.sql(&sql("refuse_no_more")).unwrap();
    let directory = sandbox.run(&["verify"]).failure().stderr;
    assert!(directory.contains("this data was moved to a database"), "{directory}");
    let database = node.run(&["verify"]).failure().stderr;
    assert!(database.contains("repeat `kiosque move`"), "{database}");

    let moved = move_it().success().stdout;
    assert!(moved.contains(": 40 orders and 1 session, "), "{moved}");
    assert_eq!(server.sql(&sql("imported_orders")).unwrap(), "40");
    node.verified();
    assert!(answers(&node.serve_with(&UNHURRIED), &token) == before);
    let again = move_it().failure().stderr;
    assert!(again.contains("this data has already been moved"), "{again}");
    node.run(&["verify"]).success();
}

/// A server that still runs on the directory refuses every order, heartbeat, session and login from
/// the moment the move is complete, and says so to a load balancer.
#[test]
fn a_running_server_refuses_the_data_that_was_moved() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let key = sandbox.create_key(&["till"]);
    let served = sandbox.serve();
    let (mut caller, mut till) = (served.connect(), served.connect_operator());
    let token = log_in(&mut caller, "guest");
    let mut post = |path: &str, body: &str| {
        till.call_operator(&format!("/operator/v1/{path}"), &key, body).unwrap().status
    };
    let beat = r#"{"deviceCode":"D0"}"#;
    assert_eq!((post("orders", &order("m", 0)), post("activity", beat)), (200, 200));
    caller.call(DEVICES_PATH, Some(&token), "{}").success();

    let server = Server::start(Durability::Full).unwrap();
    sandbox.run(&["move", "--store", &address(&[&server])]).success();
    for (path, body) in [
        ("orders", order("m", 1)),
        ("activity", beat.to_owned()),
        ("fleet", r#"{"device":[{"code":"new","name":"new","group":"g"}]}"#.to_owned()),
    ] {
        assert_eq!(post(path, &body), 503, "{path}");
    }
    let login = r#"{"username":"guest","password":"secret"}"#;
    for (path, token, body) in [
        (DEVICES_PATH, Some(token.as_str()), "{}"),
        (SUMMARY_PATH, Some(token.as_str()), "{}"),
        (TOKEN_PATH, None, login),
    ] {
        assert_eq!(caller.call(path, token, body).status, 500, "{path}");
    }
    assert!(served.stderr_until("was moved to a database").contains("--store"));
    let (status, body) = shell::get(&served, "/readyz");
    let reason = "this data was moved to a database; stop this program, and start it with --store";
    assert!(status == 503 && body.contains(reason), "{body}");
    let (status, body) = shell::get(&served, "/readyz/orders");
    assert!(status == 503 && body.contains("orders cannot be stored: "), "{body}");
    drop(served);
    assert_eq!(node(&[&server]).verified(), 1);
}

/// A database that contains other data is left alone.
#[test]
fn a_move_requires_an_empty_database() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let server = Server::start(Durability::Full).unwrap();
    let node = node(&[&server]);
    create_data(&node);
    let refused = sandbox.run(&["move", "--store", &address(&[&server])]).failure().stderr;
    assert!(refused.contains("the database already has data"), "{refused}");
    sandbox.run(&["verify"]).success();
    node.run(&["verify"]).success();
}

/// A server that runs on an empty database would answer from a part of the data.
#[test]
fn a_database_on_which_a_server_runs_is_no_target_of_a_move() {
    let sandbox = KIOSQUE.sandbox_with(fleet(), "UTC");
    let server = Server::start(Durability::Off).unwrap();
    let node = node(&[&server]);
    node.run(&["init", "--timezone", "UTC"]).success();
    let served = node.serve();
    let move_it = |more: &[&str]| {
        Ran::of(sandbox.command(&["move", "--store", &address(&[&server])]).args(more))
    };
    for more in [&["--dry-run"][..], &[]] {
        let refused = move_it(more).failure().stderr;
        assert!(
            refused.contains("a server or a command has used the database in the last"),
            "{refused}"
        );
    }
    drop(served);
    wait_until("its last renewal is some seconds ago", || move_it(&[]).status == 0);
    node.run(&["verify"]).success();
}
