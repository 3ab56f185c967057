//! The fleet that the tests of imports share, and orders for it.

/// Two groups, an account that walks and one that logs in all the while.
pub(crate) const FLEET: &str = r#"
[[group]]
id = "north"
name = "North"
[[group]]
id = "south"
name = "South"
[[account]]
login_name = "walker"
display_name = "Walker"
password = "secret"
third_party_api = true
groups = ["north", "south"]
[[account]]
login_name = "guest"
display_name = "Guest"
password = "secret"
third_party_api = true
groups = ["north"]
[[product]]
id = "cola"
name = "Cola"
currency = "EUR"
[[device]]
code = "D1"
name = "First"
group = "north"
[[device]]
code = "D2"
name = "Second"
group = "north"
"#;

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

/// A valid order in which one text is replaced.
#[track_caller]
pub(crate) fn order_with(id: &str, from: &str, to: &str) -> String {
    let good = order(id);
    assert!(good.contains(from), "{from}");
    good.replace(from, to)
}
