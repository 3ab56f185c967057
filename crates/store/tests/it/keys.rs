//! The operator's keys: only the digest is stored, and a revoked key is refused from the next
//! request.

use kiosque_model::{ActedBy, KeyName, OperatorKey, Rights, UnixMs};
use kiosque_store::{CreatedKey, KeyHolder, KeyUse};
use kiosque_testkit::{NOW, TestStore};

fn holder(name: &str, may: &str) -> KeyHolder {
    KeyHolder { name: KeyName::parse(name).unwrap(), rights: may.parse::<Rights>().unwrap() }
}

#[tokio::test]
async fn a_key_counts_until_it_is_revoked_and_then_its_name_is_free() {
    let fixture = TestStore::new().await;
    let name = || KeyName::parse("till").unwrap();
    let (first, second) = (OperatorKey::mint([1; 32]), OperatorKey::mint([2; 32]));
    let create = async |key: &OperatorKey, may: &str, at: i64| {
        fixture
            .store
            .operators()
            .create_key(holder("till", may), key.digest(), ActedBy::command(UnixMs(at)))
            .await
            .unwrap()
    };
    let held = async |key: &OperatorKey| {
        let found = fixture.store.operators().key_in_use(&key.digest(), NOW).await.unwrap();
        found.map(|(holder, _)| holder)
    };

    assert_eq!(held(&first).await, None);
    assert_eq!(create(&first, "orders", 5).await, CreatedKey::Created);
    assert_eq!(held(&first).await, Some(holder("till", "orders")));
    assert_eq!(create(&second, "fleet", 6).await, CreatedKey::NameTaken(UnixMs(5)));
    assert_eq!(held(&second).await, None);

    let revoke = async |at: i64| {
        fixture.store.operators().revoke_key(name(), ActedBy::command(UnixMs(at))).await.unwrap()
    };
    assert!(revoke(7).await);
    assert_eq!(held(&first).await, None);
    assert!(!revoke(8).await);

    assert_eq!(create(&second, "fleet,audit", 9).await, CreatedKey::Created);
    assert_eq!(held(&second).await, Some(holder("till", "fleet,audit")));
    assert_eq!(held(&first).await, None, "a revoked key stays revoked");
    let listed = fixture.store.operators().keys().await.unwrap();
    let listed: Vec<_> = listed.iter().map(|key| (key.created_at.0, key.revoked_at)).collect();
    assert_eq!(listed, [(5, Some(UnixMs(7))), (9, None)]);
}

/// The data contains only the digest of a key.
#[tokio::test]
async fn no_key_is_in_the_data() {
    let fixture = TestStore::new().await;
    let key = OperatorKey::mint([251; 32]);
    fixture
        .store
        .operators()
        .create_key(holder("till", "orders"), key.digest(), ActedBy::command(NOW))
        .await
        .unwrap();
    let rows = fixture.rows().join("\n");
    assert!(rows.contains(key.digest().as_str()), "{rows}");
    assert!(!rows.contains(&key.reveal()["kqo_".len()..]), "{rows}");
}

/// The uses within a minute are one write.
#[tokio::test]
async fn the_last_use_of_a_key_is_stored_once_a_minute() {
    let fixture = TestStore::new().await;
    let key = OperatorKey::mint([3; 32]);
    let by = ActedBy::command(NOW);
    fixture.store.operators().create_key(holder("till", "orders"), key.digest(), by).await.unwrap();
    let used = async |after: i64| {
        let now = UnixMs(NOW.0 + after);
        let (found, key_use) =
            fixture.store.operators().key_in_use(&key.digest(), now).await.unwrap().unwrap();
        assert_eq!(found, holder("till", "orders"));
        if key_use == KeyUse::Due {
            fixture.store.operators().store_key_use(key.digest(), now).await.unwrap();
        }
        fixture.store.operators().keys().await.unwrap()[0].used_at.unwrap().0 - NOW.0
    };
    assert_eq!(fixture.store.operators().keys().await.unwrap()[0].used_at, None);
    assert_eq!([used(0).await, used(59_999).await, used(60_000).await], [0, 0, 60_000]);
    // After the clock was set back.
    assert_eq!(used(-60_000).await, -60_000);
}
