//! The fleet of the bench, and its fleet file for `kiosque apply`.

use std::io::Write;

use kiosque_testkit::Rng;
use serde::Serialize;
use serde_json::{Value, json};

use crate::catalog::{CURRENCIES, GOODS, MODELS, PLACES, VARIANTS};
use crate::options::{Goods, Size};

/// Accounts that do nothing but log in, so that no two workers share a session.
pub(crate) const LOGIN_ACCOUNTS: usize = 64;
/// Aisles of each device.
pub(crate) const AISLES: usize = 40;

/// The `groupId` of a group, counted from 0.
pub(crate) fn group_id(group: usize) -> String {
    format!("{}", 10_001 + group)
}

/// The currency that a group trades in.
pub(crate) fn group_currency(group: usize, size: &Size) -> &'static str {
    match size.goods {
        Goods::Aisles => CURRENCIES[group % CURRENCIES.len()],
        Goods::Any => CURRENCIES[0],
    }
}

/// The `deviceCode` of a device, counted from 0; device 0 is the big one.
pub(crate) fn device_code(device: usize) -> String {
    format!("VJ{}", 300_300_000 + device)
}

/// The group of a device; both counted from 0.
pub(crate) fn group_of(device: usize, size: &Size) -> usize {
    device % size.groups
}

/// The product in an aisle; all counted from 0.
pub(crate) fn product_in(device: usize, aisle: usize, size: &Size) -> usize {
    (device * 7 + aisle * 5) % products(size)
}

/// How many products there are.
pub(crate) const fn products(size: &Size) -> usize {
    match size.goods {
        Goods::Aisles => GOODS.len() * VARIANTS.len(),
        Goods::Any => 400,
    }
}

/// The `goodsId` of a product, counted from 0.
pub(crate) fn goods_id(product: usize) -> String {
    format!("{}", 88_000_001 + product)
}

/// The name of a product.
pub(crate) fn goods_name(product: usize) -> String {
    let (name, _, _) = GOODS[product % GOODS.len()];
    format!("{name}{}", VARIANTS[product / GOODS.len() % VARIANTS.len()])
}

/// The price of a product, in minor units.
pub(crate) fn goods_price(product: usize) -> i64 {
    GOODS[product % GOODS.len()].2
}

/// The code of an aisle, counted from 0: ten to a layer, `A01` to `D10`.
pub(crate) fn aisle_code(aisle: usize) -> String {
    let layer = ["A", "B", "C", "D", "E", "F"][aisle / 10 % 6];
    format!("{layer}{:02}", aisle % 10 + 1)
}

/// The password of every account, in plain text.
pub(crate) fn password(login_name: &str) -> String {
    format!("open sesame, {login_name}")
}

/// The login name of the account that reads a group, counted from 0.
pub(crate) fn reader(group: usize) -> String {
    format!("reader-{:02}", group + 1)
}

/// The login name of one of the [`LOGIN_ACCOUNTS`], counted from 0.
pub(crate) fn caller(index: usize) -> String {
    format!("caller-{:02}", index + 1)
}

/// Writes the fleet file, in JSON.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn write(size: &Size, out: impl Write) -> anyhow::Result<()> {
    let group = (0..size.groups)
        .map(|group| json!({ "id": group_id(group), "name": format!("Group {:02}", group + 1) }));
    let readers = (0..size.groups).map(|group| account(&reader(group), &[group_id(group)]));
    let callers =
        (0..LOGIN_ACCOUNTS).map(|index| account(&caller(index), &[group_id(index % size.groups)]));
    let device = (0..size.devices).map(|device| device_entry(device, size));
    let fleet = json!({
        "group": group.collect::<Vec<_>>(),
        "account": readers.chain(callers).collect::<Vec<_>>(),
        "product": (0..products(size)).map(product_entry).collect::<Vec<_>>(),
        "device": device.collect::<Vec<_>>(),
    });
    serde_json::to_writer(out, &fleet)?;
    Ok(())
}

/// The entry of an account that may log in to these groups.
pub(crate) fn account(login_name: &str, groups: &[impl Serialize]) -> Value {
    json!({
        "login_name": login_name,
        "display_name": format!("Integrator {login_name}"),
        "password": password(login_name),
        "third_party_api": true,
        "groups": groups,
    })
}

fn product_entry(product: usize) -> Value {
    json!({
        "id": goods_id(product),
        "name": goods_name(product),
        "category": GOODS[product % GOODS.len()].1,
        "currency": if product % GOODS.len() < 12 { "CNY" } else { "EUR" },
        "default_price": goods_price(product),
    })
}

fn device_entry(device: usize, size: &Size) -> Value {
    let mut rng = Rng::of(size.seed ^ 0xF1EE_7000, u64::try_from(device).unwrap_or_default());
    let aisle = |aisle| {
        json!({
            "code": aisle_code(aisle),
            "product": goods_id(product_in(device, aisle, size)),
            "price": goods_price(product_in(device, aisle, size)),
            "stock": rng.below(13),
            "capacity": 12,
            "layer": aisle / 10 + 1,
        })
    };
    let aisles: Vec<Value> = (0..AISLES).map(aisle).collect();
    json!({
        "code": device_code(device),
        "name": format!("Kiosk {:04}", device + 1),
        "group": group_id(group_of(device, size)),
        "model": rng.choose(&MODELS),
        "address": rng.choose(&PLACES),
        "aisle": aisles,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn list<'a>(fleet: &'a Value, key: &str) -> &'a [Value] {
        fleet[key].as_array().map_or(&[], Vec::as_slice)
    }

    fn ids(entries: &[Value], key: &str) -> HashSet<String> {
        entries.iter().filter_map(|entry| entry[key].as_str()).map(String::from).collect()
    }

    #[test]
    fn a_fleet_names_each_thing_once_and_nothing_unknown() {
        let size = Size::small();
        let mut bytes = Vec::new();
        write(&size, &mut bytes).unwrap();
        let fleet: Value = serde_json::from_slice(&bytes).unwrap();
        let (groups, products) =
            (ids(list(&fleet, "group"), "id"), ids(list(&fleet, "product"), "id"));
        assert_eq!(groups.len(), size.groups);
        assert_eq!(products.len(), super::products(&size));
        assert_eq!(ids(list(&fleet, "device"), "code").len(), size.devices);
        assert_eq!(ids(list(&fleet, "account"), "login_name").len(), size.groups + LOGIN_ACCOUNTS);
        for device in list(&fleet, "device") {
            assert!(groups.contains(device["group"].as_str().unwrap()));
            let aisles = list(device, "aisle");
            assert_eq!(ids(aisles, "code").len(), AISLES);
            assert!(aisles.iter().all(|a| products.contains(a["product"].as_str().unwrap())));
        }
        let mut again = Vec::new();
        write(&size, &mut again).unwrap();
        assert_eq!(bytes, again);
    }
}
