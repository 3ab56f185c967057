//! Log in.

use crate::harness::House;

const FLEET: &str = r#"
    [[group]]
    id = "g1"
    name = "One"
    [[account]]
    login_name = "ops"
    password = "secret"
    third_party_api = true
    groups = ["g1"]
"#;

#[tokio::test]
async fn a_login_yields_a_token_that_works() {
    let house = House::with(FLEET).await;
    let session = house.log_in("ops").await;
    assert_eq!(house.code_of(&session.token).await, 200);
}
