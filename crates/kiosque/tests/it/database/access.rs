//! A database that refuses the role of the program, or lacks what it needs.

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::{SERVE, Sandbox, sql, wait_until};

use super::{UNHURRIED, address, create_data, fleet, log_in, node_of_owner, until_good, use_of};
use crate::KIOSQUE;

/// Starts a server, which must end by itself, and returns the first line that it printed.
fn refused(node: &Sandbox) -> String {
    let mut served = node.spawn(&SERVE);
    assert_eq!(served.wait().code(), Some(1), "{}", served.stderr());
    served.stderr_until("\n").lines().next().unwrap().to_owned()
}

/// A server does not wait for a database that is not there, refuses its role, or has another
/// encoding than UTF8: it ends, and says what to do.
#[test]
fn a_server_that_is_refused_does_not_wait() {
    let server = Server::start(Durability::Off).unwrap();
    node_of_owner(&server);
    let host = format!("127.0.0.1:{}", server.port());
    let node = |user: &str, database: &str| {
        KIOSQUE.sandbox().on(&format!("postgres://{user}@{host}/{database}"))
    };
    let refused_as = |user: &str, database: &str| refused(&node(user, database));
    let mut said = vec![refused_as("tills", "absent"), refused_as("stranger", "kiosque")];
    server.sql(&sql("create_latin1_database")).unwrap();
    said.push(refused_as("kiosque", "latin1"));
    server.sql(&sql("ask_password")).unwrap();
    wait_until("the password is requested", || {
        node("tills", "kiosque").run(&["verify"]).stderr.contains("password missing")
    });
    said.extend([refused_as("tills", "kiosque"), refused_as("tills:wrong", "kiosque")]);
    insta::assert_snapshot!(said.join("\n").replace(&host, "HOST"));
}

/// A host that refuses the role does not end the wait for another one, which may be the primary.
#[test]
fn a_server_waits_for_a_host_that_does_not_answer_while_another_refuses_it() {
    let refusing = Server::start(Durability::Off).unwrap();
    let mut away = Server::start(Durability::Off).unwrap();
    let address = address(&[&refusing, &away]).replace("kiosque@", "stranger@");
    away.stop().unwrap();
    let node = KIOSQUE.sandbox().on(&address);
    let mut served = node.spawn(&SERVE);
    let said = served.stderr_until("role \"stranger\" does not exist (28000)");
    assert!(said.contains("waiting for the database: 127.0.0.1:"), "{said}");
    assert!(!served.has_ended(), "{said}");
}

/// A server that runs answers again when its role is accepted again.
#[test]
fn a_running_server_waits_until_its_role_is_accepted_again() {
    let mut server = Server::start(Durability::Off).unwrap();
    let node = node_of_owner(&server);
    create_data(&node);
    let served = node.serve_with(&UNHURRIED);
    let token = log_in(&mut served.connect(), "guest");
    server.sql("alter role tills nologin").unwrap();
    server.stop().unwrap();
    server.start_again().unwrap();
    let mut caller = served.connect();
    wait_until("the role is refused", || {
        use_of(&mut caller, &token) == 500 && served.stderr().contains("role tills has no access")
    });
    server.sql("alter role tills login").unwrap();
    until_good(&mut served.connect(), &token);
}

/// A role without rights, or without a schema, is named with its database and the remedy.
#[test]
fn a_role_that_cannot_use_the_database_is_named_with_the_remedy() {
    let server = Server::start(Durability::Off).unwrap();
    server.sql("create role tills login").unwrap();
    let (own, host) = (address(&[&server]), format!("127.0.0.1:{}", server.port()));
    let apply = |address: &str| {
        let node = KIOSQUE.sandbox().on(address);
        node.run(&["apply", &node.file("fleet.toml", fleet())]).failure().stderr
    };
    let said = apply(&own.replace("kiosque@", "tills@"))
        + &apply(&format!("{own}?options=-c%20search_path%3Dabsent"));
    insta::assert_snapshot!(said.replace(&host, "HOST"));
}
