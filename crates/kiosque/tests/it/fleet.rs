//! The fleet that the tests of imports share, and orders for it.

use kiosque_testkit::FleetToml;

/// Two groups, an account that walks and one that logs in all the while.
pub(crate) fn fleet() -> FleetToml {
    FleetToml::new()
        .group("north", "North")
        .group("south", "South")
        .account("walker", &["north", "south"])
        .with("display_name = \"Walker\"")
        .account("guest", &["north"])
        .with("display_name = \"Guest\"")
        .product("cola", "Cola", "EUR")
        .device("D1", "First", "north")
        .device("D2", "Second", "north")
}

/// A card and a phone number that must never be readable again, and their masked form (FMT-4).
pub(crate) const CARD: &str = "4929000011112222";
pub(crate) const CARD_KEPT: &str = "************2222";
pub(crate) const PHONE: &str = "+33 6 98 76 54 32";
pub(crate) const PHONE_KEPT: &str = "+** * ** ** 54 32";
/// Parts that an unmasked one contains and a masked one does not.
pub(crate) const CANARIES: [&str; 4] = ["49290000", "4929 0000", "4929-0000", "6 98 76"];

/// The fields of a good order, without braces.
pub(crate) fn fields(id: &str) -> String {
    format!(
        r#""orderId":"{id}","deviceCode":"D1","currency":"EUR","totalAmount":250,{}"#,
        format_args!(
            r#""tradeStartTime":"2026-01-02 03:04:05","cardNumber":"{CARD}","phone":"{PHONE}""#
        )
    )
}

/// A good order.
pub(crate) fn order(id: &str) -> String {
    format!("{{{}}}", fields(id))
}

/// Good orders `{name}{at}` for each number.
pub(crate) fn orders(name: &str, numbers: std::ops::Range<usize>) -> String {
    numbers.map(|at| order(&format!("{name}{at}")) + "\n").collect()
}

/// A valid order in which one text is replaced.
#[track_caller]
pub(crate) fn order_with(id: &str, from: &str, to: &str) -> String {
    let good = order(id);
    assert!(good.contains(from), "{from}");
    good.replace(from, to)
}
