//! Exchange rates, loaded and loaded again.

use kiosque_contract::ChangeCounts;
use kiosque_store::{RateChange, RatesSet};
use kiosque_testkit::TestStore;
use kiosque_testkit::entries::rate;

/// A rate of the same currency and day replaces the stored one; the same rate again changes
/// nothing.
#[tokio::test]
async fn a_rate_is_of_one_currency_and_one_day() {
    let fixture = TestStore::new().await;
    let loaded = vec![rate("EUR", 10, "1.1"), rate("EUR", 20, "1.2"), rate("JPY", 10, "0.0067")];
    let counts = |created, changed, unchanged| ChangeCounts { created, changed, unchanged };
    let set = fixture.store.fleet().set_rates(loaded.clone()).await.unwrap();
    assert_eq!(set, RatesSet { counts: counts(3, 0, 0), ..RatesSet::default() });
    let set = fixture.store.fleet().set_rates(loaded).await.unwrap();
    assert_eq!(set, RatesSet { counts: counts(0, 0, 3), ..RatesSet::default() });
    let mended = vec![rate("EUR", 20, "1.25"), rate("EUR", 10, "1.1"), rate("EUR", -9, "0.5")];
    let set = fixture.store.fleet().set_rates(mended).await.unwrap();
    assert_eq!(set.counts, counts(1, 1, 1));
    let before = rate("EUR", 20, "1.2");
    assert_eq!(set.replaced, [RateChange { new: rate("EUR", 20, "1.25"), before }]);
    assert_eq!(set.jumps, []);
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

/// A rate is compared with the one that it replaces, else with the latest earlier one of its
/// currency, stored or loaded with it. Ten times is no jump yet.
#[tokio::test]
async fn a_rate_that_differs_by_more_than_ten_times_is_reported() {
    let fixture = TestStore::new().await;
    let first = [rate("EUR", 10, "1"), rate("EUR", 20, "10"), rate("JPY", 30, "0.0067")];
    let set = fixture.store.fleet().set_rates(first.to_vec()).await.unwrap();
    assert_eq!(set.jumps, []);
    let typed = [
        rate("EUR", 10, "10837"),
        rate("EUR", 15, "1.1"),
        rate("EUR", 25, "0.999"),
        rate("EUR", 9, "0.01"),
        rate("JPY", 31, "0.067"),
        rate("JPY", 32, "0.67000001"),
    ];
    let set = fixture.store.fleet().set_rates(typed.to_vec()).await.unwrap();
    let jumps = [
        RateChange { new: typed[0], before: first[0] },
        RateChange { new: typed[1], before: typed[0] },
        RateChange { new: typed[2], before: first[1] },
        RateChange { new: typed[5], before: typed[4] },
    ];
    assert_eq!(set.jumps, jumps);
    assert_eq!(set.replaced, [RateChange { new: typed[0], before: first[0] }]);
    assert_eq!(fixture.store.fleet().set_rates(typed.to_vec()).await.unwrap().jumps, []);
}
