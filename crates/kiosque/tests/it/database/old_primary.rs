//! A standby is promoted while the old primary continues, and a node is still connected to it.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::{FleetToml, Sandbox, Served, sql, wait_until};

use super::{address, create_data, log_in, node, use_of};
use crate::KIOSQUE;

const ACTIVITY: &str = "/operator/v1/activity";
/// Uses of the old token that are answered after its session has ended.
const USES_AFTER: usize = 20;

/// Returns the start times of the uses of a token that a node on the old primary accepted, and the
/// time at which a change on the new primary that ends the session had been answered. `change` runs
/// once the standby is promoted. The data was restored from the dump of another cluster, which had
/// the same timelines.
fn accepted_and_ended(of_old: &[&str], change: impl FnOnce(&Sandbox)) -> (Vec<Instant>, Instant) {
    let primary = Server::start(Durability::Full).unwrap();
    let standby = primary.standby().unwrap();
    // Each knows one of the two, as if the network between the others were cut.
    let (on_old, on_new) = (node(&[&primary]), node(&[&standby]));
    create_data(&on_old);
    primary.sql(&sql("other_cluster")).unwrap();
    let old = on_old.serve_with(of_old);
    let token = log_in(&mut old.connect(), "guest");
    let change = || {
        standby.promote().unwrap();
        change(&on_new);
    };
    accepted_until_ended(&old, &token, change)
}

/// Uses a token on a node while `change` runs and for a while after it. Returns the start times of
/// the uses that were accepted, and the time at which `change` returned.
fn accepted_until_ended(
    node: &Served,
    token: &str,
    change: impl FnOnce(),
) -> (Vec<Instant>, Instant) {
    let (stop, uses) = (AtomicBool::new(false), [(); 2].map(|()| AtomicUsize::new(0)));
    let [all_uses, good_uses] = &uses;
    thread::scope(|scope| {
        let stale = scope.spawn(|| {
            let (mut caller, mut accepted) = (node.connect(), Vec::new());
            while !stop.load(Ordering::Relaxed) {
                let begun = Instant::now();
                match use_of(&mut caller, token) {
                    200 => {
                        accepted.push(begun);
                        good_uses.fetch_add(1, Ordering::SeqCst);
                    }
                    code => assert_eq!(code, 500, "a node that cannot know says so"),
                }
                all_uses.fetch_add(1, Ordering::SeqCst);
            }
            accepted
        });
        wait_until("the token is used", || good_uses.load(Ordering::SeqCst) > 0);
        change();
        let ended = Instant::now();
        let before = all_uses.load(Ordering::SeqCst);
        wait_until("uses after that are answered", || {
            all_uses.load(Ordering::SeqCst) >= before + USES_AFTER
        });
        stop.store(true, Ordering::Relaxed);
        (stale.join().unwrap(), ended)
    })
}

/// Returns how many uses of a token were accepted that began after its session had ended.
fn stale((accepted, ended): (Vec<Instant>, Instant)) -> usize {
    let stale = accepted.iter().filter(|begun| **begun > ended).count();
    println!("{} uses accepted, {stale} of a session that had ended", accepted.len());
    assert!(!accepted.is_empty());
    stale
}

fn log_in_on_a_node(node: &Sandbox, more: &[&str]) {
    log_in(&mut node.serve_with(more).connect(), "guest");
}

/// AUTH-22: with the old primary alive, no stale token is accepted after the lease has ended.
#[test]
fn a_node_on_an_old_primary_accepts_no_token_that_was_replaced_on_the_new() {
    assert_eq!(stale(accepted_and_ended(&[], |new| log_in_on_a_node(new, &[]))), 0);
}

/// AUTH-24, AUTH-26: nor one whose session a command ended, which is a node with a lease of its
/// own.
#[test]
fn a_node_on_an_old_primary_accepts_no_token_that_a_command_ended_on_the_new() {
    let ended = accepted_and_ended(&[], |new| {
        new.run(&["session", "end", "guest"]).success();
    });
    assert_eq!(stale(ended), 0);
    let disabled = accepted_and_ended(&[], |new| {
        let disabled = FleetToml::new().account("guest", &["g"]).with("enabled = false");
        new.apply(disabled);
    });
    assert_eq!(stale(disabled), 0);
}

/// AUTH-22: a node whose lease on the old primary has not ended may already write to the new one.
#[test]
fn a_node_that_loses_its_old_primary_ends_no_session_while_others_may_answer() {
    let primary = Server::start(Durability::Full).unwrap();
    let standby = primary.standby().unwrap();
    // Longer than the promotion takes, so that the lease has not ended when the login is tried.
    let lease = ["--session-lease", "5s"];
    let (staying, network) = (node(&[&primary]), Network::to(&primary));
    create_data(&staying);
    let through = address(&[&primary, &standby])
        .replace(&primary.port().to_string(), &network.port.to_string());
    let changing = KIOSQUE.sandbox().on(&through);
    let (old, new) = (staying.serve_with(&lease), changing.serve_with(&lease));
    let token = log_in(&mut new.connect(), "guest");
    let replaced = accepted_until_ended(&old, &token, || {
        network.cut();
        standby.promote().unwrap();
        log_in(&mut new.connect(), "guest");
    });
    assert_eq!(stale(replaced), 0);
}

/// The network between a node and a server, which can be cut.
struct Network {
    port: u16,
    is_cut: Arc<AtomicBool>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl Network {
    fn to(server: &Server) -> Network {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (is_cut, connections) = (Arc::<AtomicBool>::default(), Arc::default());
        let network = Network { port, is_cut, connections };
        let (is_cut, connections) = (Arc::clone(&network.is_cut), Arc::clone(&network.connections));
        let server = server.port();
        thread::spawn(move || {
            for client in listener.incoming() {
                let mut open = connections.lock().unwrap();
                if is_cut.load(Ordering::SeqCst) {
                    continue;
                }
                let (client, server) =
                    (client.unwrap(), TcpStream::connect(("127.0.0.1", server)).unwrap());
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    thread::spawn(move || std::io::copy(&mut from, &mut to));
                }
                open.extend([client, server]);
            }
        });
        network
    }

    /// Closes the connections, and every later one.
    fn cut(&self) {
        let open = self.connections.lock().unwrap();
        self.is_cut.store(true, Ordering::SeqCst);
        for connection in open.iter() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

/// The same holds for the key of an operator: while the old primary continues, the node on it says
/// that it does not know.
#[test]
fn a_node_on_an_old_primary_accepts_no_key_that_was_revoked_on_the_new() {
    let primary = Server::start(Durability::Full).unwrap();
    let standby = primary.standby().unwrap();
    let (on_old, on_new) = (node(&[&primary]), node(&[&standby]));
    let key = create_data(&on_old);
    let old = on_old.serve();
    // No line: the call reads the key and nothing else.
    let mut caller = old.connect_operator();
    let mut status = || caller.call_operator(ACTIVITY, &key, "").unwrap().status;
    assert_eq!(status(), 200);
    standby.promote().unwrap();
    on_new.run(&["operator-key", "revoke", "tills"]).success();
    for _ in 0..USES_AFTER {
        assert_eq!(status(), 503);
    }
}

/// A lease that outlives the promotion, and a node that waits for a shorter one: the test notices.
#[test]
fn a_lease_longer_than_the_wait_is_detected() {
    let quick = ["--session-lease", "300ms", "--clock-skew", "100ms"];
    let replaced =
        accepted_and_ended(&["--session-lease", "1h"], |new| log_in_on_a_node(new, &quick));
    assert!(stale(replaced) > 0);
}
