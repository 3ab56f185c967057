use kiosque_testdb::{Durability, Server};

#[test]
fn a_promoted_standby_has_what_was_committed() {
    let mut primary = Server::start(Durability::Full).unwrap();
    primary.sql("create table row_of (n int); insert into row_of values (1)").unwrap();
    let standby = primary.standby().unwrap();
    assert_ne!(standby.port(), primary.port());
    primary.sql("insert into row_of values (2)").unwrap();
    assert!(standby.sql("insert into row_of values (3)").is_err(), "it only reads");

    primary.kill_9().unwrap();
    standby.promote().unwrap();
    assert_eq!(standby.sql("select n from row_of order by n").unwrap(), "1\n2");
    standby.sql("insert into row_of values (3)").unwrap();
}

#[test]
fn a_promoted_standby_can_be_followed_in_turn() {
    let mut first = Server::start(Durability::Full).unwrap();
    let second = first.standby().unwrap();
    first.sql("create table row_of (n int)").unwrap();
    first.kill_9().unwrap();
    second.promote().unwrap();
    let third = second.standby().unwrap();
    second.sql("insert into row_of values (1)").unwrap();
    drop(second);
    // It had the setting from the server that it followed.
    third.promote().unwrap();
    third.sql("insert into row_of values (2)").unwrap();
    assert_eq!(third.sql("select n from row_of order by n").unwrap(), "1\n2");
}

#[test]
fn commits_wait_for_the_standby() {
    let primary = Server::start(Durability::Full).unwrap();
    primary.sql("create table row_of (n int)").unwrap();
    let mut standby = primary.standby().unwrap();
    standby.stop().unwrap();
    let insert = "insert into row_of values (1)";
    let waited = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| primary.sql(insert));
        std::thread::sleep(std::time::Duration::from_secs(1));
        let waited = !waiting.is_finished();
        standby.start_again().unwrap();
        waiting.join().unwrap().unwrap();
        waited
    });
    assert!(waited);
}
