//! A database that refuses the role of the program, or lacks what it needs.

use kiosque_testdb::{Durability, Server};
use kiosque_testkit::{sql, wait_until};

use super::{Node, UNHURRIED, fleet, log_in, until_good, use_of};

/// Starts a server, which must end by itself, and returns the first line that it printed.
fn refused(node: &Node) -> String {
    let mut served = node.spawn();
    assert_eq!(served.wait().code(), Some(1), "{}", served.stderr());
    served.stderr_until("\n").lines().next().unwrap().to_owned()
}

/// A server does not wait for a database that is not there, refuses its role, or has another
/// encoding than UTF8: it ends, and says what to do.
#[test]
fn a_server_that_is_refused_does_not_wait() {
    let server = Server::start(Durability::Off).unwrap();
    let mut node = Node::of_owner(&server);
    let host = format!("127.0.0.1:{}", server.port());
    let mut refused_as = |user: &str, database: &str| {
        node.store = format!("postgres://{user}@{host}/{database}");
        refused(&node)
    };
    let said = |role: &str, database: &str, why: &str| {
        let of = format!("role {role} has no access to database {database}");
        format!("kiosque: --store: {host}: {of}: {why}")
    };
    let why = "database \"absent\" does not exist (3D000); create the database, or correct its \
               name in the address";
    assert_eq!(refused_as("tills", "absent"), said("tills", "absent", why));
    let why = "role \"stranger\" does not exist (28000); the role must exist with LOGIN, and \
               pg_hba.conf of the server must allow it from this machine with the sslmode of the \
               address";
    assert_eq!(refused_as("stranger", "kiosque"), said("stranger", "kiosque", why));
    server.sql(sql::CREATE_LATIN1_DATABASE).unwrap();
    let encoding = "database latin1 has the encoding LATIN1, and must have UTF8; create one with \
                    `create database NAME encoding 'UTF8' locale 'C' template template0`";
    let expected = format!("kiosque: --store: {host}: {encoding}");
    assert_eq!(refused_as("kiosque", "latin1"), expected);
    server.sql(sql::ASK_PASSWORD).unwrap();
    let without =
        Node { store: format!("postgres://tills@{host}/kiosque"), ..Node::on(&[&server]) };
    wait_until("the password is requested", || {
        without.run(&["verify"]).stderr.contains("password missing")
    });
    let why = "invalid configuration: password missing; add it to the address";
    assert_eq!(refused_as("tills", "kiosque"), said("tills", "kiosque", why));
    let why = "password authentication failed for user \"tills\" (28P01); correct the password in \
               the address";
    assert_eq!(refused_as("tills:wrong", "kiosque"), said("tills", "kiosque", why));
}

/// A host that refuses the role does not end the wait for another one, which may be the primary.
#[test]
fn a_server_waits_for_a_host_that_does_not_answer_while_another_refuses_it() {
    let refusing = Server::start(Durability::Off).unwrap();
    let mut away = Server::start(Durability::Off).unwrap();
    let mut node = Node::on(&[&refusing, &away]);
    node.store = node.store.replace("kiosque@", "stranger@");
    away.stop().unwrap();
    let mut served = node.spawn();
    let said = served.stderr_until("role \"stranger\" does not exist (28000)");
    assert!(said.contains("waiting for the database: 127.0.0.1:"), "{said}");
    assert!(!served.has_ended(), "{said}");
}

/// A server that runs answers again when its role is accepted again.
#[test]
fn a_running_server_waits_until_its_role_is_accepted_again() {
    let mut server = Server::start(Durability::Off).unwrap();
    let node = Node::of_owner(&server);
    node.create_data();
    let served = node.serve(&UNHURRIED);
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
    let mut node = Node::on(&[&server]);
    let file = node.sandbox.file("fleet.toml", fleet());
    let (own, host) = (node.store.clone(), format!("127.0.0.1:{}", server.port()));
    node.store = own.replace("kiosque@", "tills@");
    let why = "permission denied for schema public (42501); the role must own the database, or its \
               schema and all tables in it";
    let said =
        format!("kiosque: --store: role tills cannot use database kiosque on {host}: {why}\n");
    assert_eq!(node.run(&["apply", &file]).failure().stderr, said);
    node.store = format!("{own}?options=-c%20search_path%3Dabsent");
    let why = "no schema has been selected to create in (3F000); create a schema of its \
               search_path that the role owns, or correct search_path in the options of the \
               address";
    let of = format!("role kiosque cannot use database kiosque on {host}");
    let said = format!("kiosque: --store: {of}: {why}\n");
    assert_eq!(node.run(&["apply", &file]).failure().stderr, said);
}
