//! The group in a token is a hint: the row of the session decides which rows are returned.

use kiosque_contract::DeviceRecord;
use kiosque_model::session::Token;
use kiosque_model::{Claim, DeviceCode, PageRequest, PresentedToken, Refusal};
use kiosque_store::{History, OnlineSince, OrderQuery, Refused};
use kiosque_testkit::entries::{first_devices, order};
use kiosque_testkit::{NOW, TestData, TestStore};

use super::relay::Relay;
use super::requests::Requests;

async fn devices(fixture: &TestStore, token: &PresentedToken) -> Result<Vec<String>, Refused> {
    let claim = Claim { token: token.clone(), now: NOW };
    let (total, records) =
        fixture.store.reports().device_page(claim, OnlineSince(NOW), first_devices(100)).await?;
    let codes = records.iter().map(|json| {
        let record: DeviceRecord<'_> = serde_json::from_slice(json).unwrap();
        record.device_code.into_owned()
    });
    let codes: Vec<String> = codes.collect();
    assert_eq!(usize::try_from(total).unwrap(), codes.len());
    Ok(codes)
}

/// SCOPE-1: a request sees the group that the session selects, whichever group its token names.
#[tokio::test]
async fn rows_of_the_hinted_group_are_not_returned_for_a_session_of_another() {
    for data in [TestData::sqlite(), TestData::postgres()] {
        let fixture = TestStore::with_fleet_on(data).await;
        fixture.receive_new(vec![order("o1", "d1", 1), order("o2", "e1", 1)]).await;
        let token = fixture.log_in("ops").await.unwrap();
        assert_eq!(devices(&fixture, &token).await.unwrap(), ["d1", "d2"]);

        let select = |group: &str| {
            fixture.tamper(&format!(
                "update sessions set group_no =
                    (select group_no from groups where group_id = '{group}')"
            ));
        };
        select("b");
        assert_eq!(devices(&fixture, &token).await.unwrap(), ["e1"]);
        select("a");
        assert_eq!(devices(&fixture, &token).await.unwrap(), ["d1", "d2"]);

        select("b");
        fixture.tamper("update groups set active = false where group_id = 'b'");
        let refused = devices(&fixture, &token).await;
        assert!(matches!(refused, Err(Refused::Refusal(Refusal::GroupClosed))), "{refused:?}");
        fixture.tamper("delete from sessions");
        let refused = devices(&fixture, &token).await;
        assert!(matches!(refused, Err(Refused::Refusal(Refusal::TokenInvalid))), "{refused:?}");
    }
}

/// SCOPE-1: nothing of a group leaves the database for a token that was never proven, although it
/// names the numbers of a real account and group.
#[tokio::test]
async fn no_row_is_read_ahead_for_a_token_that_was_never_proven() {
    let asked = Requests::through(Relay::recording).await;
    // Pages of other sizes, none of which is cached.
    let ask = async |token: &PresentedToken, size: i64| {
        let page = OrderQuery {
            device: DeviceCode::parse("d2").ok(),
            history: History::Left,
            span: None,
            page: PageRequest::new(1, size).unwrap(),
        };
        let claim = Claim { token: token.clone(), now: NOW };
        let answer = asked.store.orders().page(claim.clone(), page).await.map(|page| page.total);
        // A connection answers in turn, so that all rows have arrived with this.
        let _ = asked.store.sessions().prove(claim).await;
        (answer, asked.relay.answers().contains("numbered"))
    };
    // The first request with the real token proves it.
    for size in [10, 11] {
        assert!(matches!(ask(&asked.session, size).await, (Ok(1), true)));
    }
    let (account, group) = (asked.session.account_hint(), asked.session.group_hint());
    let forged = Token::mint(account, group, [255; 32]);
    let forged = PresentedToken::read(forged.reveal().as_bytes()).unwrap();
    let (answer, has_rows) = ask(&forged, 12).await;
    assert!(matches!(answer, Err(Refused::Refusal(Refusal::TokenInvalid))), "{answer:?}");
    assert!(!has_rows);
}
