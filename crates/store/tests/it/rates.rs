//! Exchange rates, loaded and loaded again.

use kiosque_model::sales::Rate;
use kiosque_model::{Currency, Day};
use kiosque_store::{ChangeCounts, DatedRate};
use kiosque_testkit::TestStore;

fn rate(code: &str, day: i64, text: &str) -> DatedRate {
    let (currency, rate) = (Currency::parse(code).unwrap(), Rate::parse(text).unwrap());
    DatedRate { day: Day(day), currency, rate }
}

/// A rate of the same currency and day replaces the stored one; the same rate again changes
/// nothing.
#[tokio::test]
async fn a_rate_is_of_one_currency_and_one_day() {
    let fixture = TestStore::new().await;
    let loaded = vec![rate("EUR", 10, "1.1"), rate("EUR", 20, "1.2"), rate("JPY", 10, "0.0067")];
    let counts = |created, changed, unchanged| ChangeCounts { created, changed, unchanged };
    assert_eq!(fixture.store.set_rates(loaded.clone()).await.unwrap(), counts(3, 0, 0));
    assert_eq!(fixture.store.set_rates(loaded).await.unwrap(), counts(0, 0, 3));
    let mended = vec![rate("EUR", 20, "1.25"), rate("EUR", 10, "1.1"), rate("EUR", -9, "0.5")];
    assert_eq!(fixture.store.set_rates(mended).await.unwrap(), counts(1, 1, 1));
    assert_eq!(
        fixture.query("select currency, day, usd_per_unit_e12 from rates order by currency, day"),
        [
            "EUR|-9|500000000000",
            "EUR|10|1100000000000",
            "EUR|20|1250000000000",
            "JPY|10|6700000000"
        ]
    );
}
