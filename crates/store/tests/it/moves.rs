//! A move to a database: what is copied is compared with the directory.

use kiosque_store::{MoveError, Store};
use kiosque_testkit::entries::order;
use kiosque_testkit::{NOW, TestData, TestStore, open, open_options};

/// The directory stays in use, and the database is not opened until the move has begun again.
#[tokio::test]
async fn a_copy_that_differs_is_found_and_begins_again() {
    let from = TestStore::with_fleet_on(TestData::sqlite()).await;
    from.receive_new(vec![order("o1", "d1", 10), order("o2", "e1", 20)]).await;
    let target = TestData::without_tables();
    let source = Store::open_unsettled(&open_options(&from.data)).await.unwrap();
    let to = Store::open_unsettled(&open_options(&target)).await.unwrap();
    for (change, rows) in [("new.change_no := 7; return new", 1), ("return null", 0)] {
        target.execute(&format!(
            "create function wrong() returns trigger language plpgsql as $$ begin {change}; end $$;
            create trigger wrong before insert on orders for each row
                when (new.order_id = 'o1') execute function wrong()"
        ));
        let moved = source.upkeep().move_to(to.upkeep(), NOW, |_| {}).await;
        let Err(MoveError::Differ(differences)) = moved else { panic!("{moved:?}") };
        let expected = format!(
            "orders, group number 1: 1 rows in the directory and {rows} in the database, or \
             different values"
        );
        assert_eq!(differences, [expected]);
        target.execute("drop function wrong cascade");
    }
    let refused = open(&target, None).await.unwrap_err().to_string();
    assert!(refused.contains("repeat `kiosque move`"), "{refused}");
    from.receive_new(vec![order("o3", "d1", 30)]).await;
    let moved = source.upkeep().move_to(to.upkeep(), NOW, |_| {}).await.unwrap();
    assert_eq!((moved.rows_of("orders"), moved.groups), (3, 2));
    let moved = open(&target, None).await.unwrap();
    assert_eq!(moved.upkeep().verify().await.unwrap().differences, [""; 0]);
    let refused = open(&from.data, None).await.unwrap_err().to_string();
    assert!(refused.contains("this data was moved to a database"), "{refused}");
}

/// Data is moved once: the target of an interrupted move does not become a second one in use.
#[tokio::test]
async fn data_that_was_moved_is_not_moved_to_an_earlier_target() {
    let from = TestStore::with_fleet_on(TestData::sqlite()).await;
    from.receive_new(vec![order("o1", "d1", 10)]).await;
    let (given_up, target) = (TestData::without_tables(), TestData::without_tables());
    let source = Store::open_unsettled(&open_options(&from.data)).await.unwrap();
    let first = Store::open_unsettled(&open_options(&given_up)).await.unwrap();
    let second = Store::open_unsettled(&open_options(&target)).await.unwrap();
    given_up.execute(
        "create function wrong() returns trigger language plpgsql as
            $$ begin return null; end $$;
        create trigger wrong before insert on orders for each row execute function wrong()",
    );
    let stopped = source.upkeep().move_to(first.upkeep(), NOW, |_| {}).await;
    assert!(matches!(stopped, Err(MoveError::Differ(_))), "{stopped:?}");
    given_up.execute("drop function wrong cascade");
    source.upkeep().move_to(second.upkeep(), NOW, |_| {}).await.unwrap();
    for to in [&first, &second] {
        let again = source.upkeep().move_to(to.upkeep(), NOW, |_| {}).await;
        assert!(matches!(again, Err(MoveError::HasMoved)), "{again:?}");
    }
    let refused = open(&given_up, None).await.unwrap_err().to_string();
    assert!(refused.contains("a move into this database is not finished"), "{refused}");
    open(&target, None).await.unwrap();
}
