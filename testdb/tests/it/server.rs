use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use kiosque_testdb::{Durability, Server};

use crate::{family, lives};

#[test]
fn a_server_has_the_requested_settings() {
    let server = Server::start(Durability::Off).unwrap();
    assert_eq!(server.url(), format!("postgres://kiosque@127.0.0.1:{}/kiosque", server.port()));
    let query =
        "select current_user, current_database(), pg_encoding_to_char(encoding), datcollate,
                       (select rolsuper from pg_roles where rolname = current_user)
                  from pg_database where datname = current_database()";
    assert_eq!(server.sql(query).unwrap(), "kiosque|kiosque|UTF8|C.UTF-8|t");
    assert_eq!(server.sql("show max_connections").unwrap(), "700");
    assert_eq!(server.sql("show fsync").unwrap(), "off");

    let error = server.sql("select 1 from vehicle").unwrap_err().to_string();
    assert!(error.contains("relation \"vehicle\" does not exist"), "{error}");
}

#[test]
fn a_dropped_server_leaves_nothing() {
    let server = Server::start(Durability::Off).unwrap();
    let port = server.port();
    let data = server.sql("show data_directory").unwrap();
    let family = family(&data);
    server.freeze().unwrap();
    drop(server);
    let home = Path::new(&data).parent().unwrap();
    assert!(!home.exists(), "{}", home.display());
    assert!(!family.iter().any(|pid| lives(pid)), "{family:?}");
    assert!(std::net::TcpListener::bind(("127.0.0.1", port)).is_ok());
}

#[test]
fn a_committed_row_outlives_a_kill() {
    let mut server = Server::start(Durability::Full).unwrap();
    let url = server.url();
    let family = family(&server.sql("show data_directory").unwrap());
    server.sql("create table row_of (n int); insert into row_of values (1)").unwrap();
    server.sql("checkpoint").unwrap();
    server.sql("insert into row_of values (2)").unwrap();
    server.kill_9().unwrap();
    assert!(!family.iter().any(|pid| lives(pid)), "{family:?}");
    assert!(server.sql("select 1").is_err());
    assert!(server.kill_9().is_err(), "there is nothing to kill");

    server.start_again().unwrap();
    assert_eq!(server.url(), url);
    assert_eq!(server.sql("select n from row_of order by n").unwrap(), "1\n2");
    assert!(server.start_again().is_err(), "it runs");
}

#[test]
fn a_stopped_server_starts_again() {
    let mut server = Server::start(Durability::Off).unwrap();
    server.sql("create table row_of (n int)").unwrap();
    server.stop().unwrap();
    assert!(server.sql("select 1").is_err());
    server.start_again().unwrap();
    assert_eq!(server.sql("select n from row_of").unwrap(), "");
}

#[test]
fn a_frozen_server_answers_when_it_is_thawed() {
    let server = Server::start(Durability::Off).unwrap();
    server.freeze().unwrap();
    let start = Instant::now();
    let answered = std::thread::scope(|scope| {
        let asked = scope.spawn(|| server.sql("select 1").map(|row| (row, start.elapsed())));
        sleep(Duration::from_millis(500));
        assert!(!asked.is_finished());
        server.thaw().unwrap();
        asked.join().unwrap()
    });
    let (row, after) = answered.unwrap();
    assert_eq!(row, "1");
    assert!(after >= Duration::from_millis(500), "{after:?}");
}

#[test]
fn processor_time_counts_sessions_that_have_ended() {
    let server = Server::start(Durability::Off).unwrap();
    let (before, start) = (server.cpu_time().unwrap(), Instant::now());
    // A session that ends during the first reading may count twice in it.
    let spent = || server.cpu_time().unwrap().saturating_sub(before);
    while spent() <= Duration::from_millis(50) {
        assert!(start.elapsed() < Duration::from_secs(300), "{:?} were spent", spent());
        server.sql("select sum(n) from generate_series(1, 3000000) n").unwrap();
    }
}

#[test]
fn two_servers_at_a_time() {
    let start = || Server::start(Durability::Off).unwrap();
    let (one, other) = std::thread::scope(|scope| {
        let (one, other) = (scope.spawn(start), scope.spawn(start));
        (one.join().unwrap(), other.join().unwrap())
    });
    assert_ne!(one.port(), other.port());
}

#[test]
fn a_server_with_tls_refuses_connections_without() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let server = Server::start_with_tls(&cert, &key).unwrap();
    let mine = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
    assert_eq!(server.sql(mine).unwrap(), "t");
    let plain = format!("{}?sslmode=disable", server.url());
    let refused = Command::new("psql").args(["-X", &plain, "-c", "select 1"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("no encryption"), "{said}");

    let Err(error) = Server::start_with_tls("no certificate", &key) else { panic!("it started") };
    assert!(format!("{error:#}").contains("could not load server certificate"), "{error:#}");
}
