//! The demonstration fleet: fixed groups, accounts, products and stocked devices.

use kiosque_model::fleet::{AccountEntry, DeviceEntry, Fleet, GroupEntry, Password, ProductEntry};
use kiosque_model::money::Minor;
use kiosque_model::{GroupId, LoginName};

use super::data::{Account, DATA};
use super::kiosks::{Kiosk, kiosks};

/// A device of the first account's default group, for the example calls.
pub(super) const FIRST_DEVICE: &str = "HBR-001";

/// Returns the fleet.
pub(super) fn fleet() -> Fleet {
    Fleet {
        groups: groups(),
        accounts: DATA.accounts.iter().map(account).collect(),
        products: products(),
        devices: kiosks().into_iter().map(device).collect(),
    }
}

fn group_id(text: &str) -> GroupId {
    GroupId::parse(text).expect("the data has ids")
}

fn groups() -> Vec<GroupEntry> {
    let groups = DATA.sites.iter().map(|site| GroupEntry {
        id: group_id(&site.group),
        name: Some(site.name.clone()),
        active: Some(site.closed_weeks_ago.is_none()),
    });
    groups.collect()
}

fn account(account: &Account) -> AccountEntry {
    AccountEntry {
        login_name: LoginName::parse(&account.login_name).expect("the data has login names"),
        display_name: Some(account.display_name.clone()),
        password: Some(Password::Clear(DATA.password.clone())),
        third_party_api: Some(account.third_party_api.unwrap_or(true)),
        enabled: Some(account.enabled.unwrap_or(true)),
        groups: Some(account.groups.iter().map(|group| group_id(group)).collect()),
    }
}

fn products() -> Vec<ProductEntry> {
    let of_ranges = DATA.ranges.iter().flat_map(|range| {
        range.products.iter().map(|product| ProductEntry {
            id: product.id.clone(),
            name: Some(product.name.clone()),
            category: Some(product.category.clone()),
            currency: Some(range.currency()),
            default_price: Some(Minor(product.price)),
        })
    });
    of_ranges.collect()
}

fn device(kiosk: Kiosk) -> DeviceEntry {
    DeviceEntry {
        name: Some(kiosk.location.name.clone()),
        group: Some(group_id(&kiosk.site.group)),
        since: None,
        model: Some(kiosk.location.model.clone()),
        address: Some(kiosk.location.address.clone()),
        enabled: Some(kiosk.location.enabled.unwrap_or(true)),
        aisles: Some(kiosk.aisles.into_iter().map(|(aisle, _)| aisle).collect()),
        code: kiosk.code,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn it_is_the_same_each_time_and_large_enough_to_look_around() {
        let fleet = fleet();
        assert_eq!(fleet, super::fleet());
        assert_eq!(fleet.groups.len(), 5);
        assert_eq!(fleet.groups.iter().filter(|group| group.active == Some(false)).count(), 1);
        assert_eq!(fleet.devices.len(), 40);
        assert!((55..=65).contains(&fleet.products.len()), "{}", fleet.products.len());
    }

    /// An apply checks that ids and codes are unique, and that entries refer to existing ones.
    #[test]
    fn names_are_unique() {
        let fleet = fleet();
        let products: HashSet<_> = fleet.products.iter().map(|product| &product.name).collect();
        let devices: HashSet<_> = fleet.devices.iter().map(|device| &device.name).collect();
        assert_eq!((products.len(), devices.len()), (fleet.products.len(), fleet.devices.len()));
    }

    #[test]
    fn aisles_hold_what_fits_at_a_price() {
        for device in fleet().devices {
            let aisles = device.aisles.unwrap();
            assert!((24..=48).contains(&aisles.len()), "{}", device.code);
            for aisle in &aisles {
                assert!((0..=aisle.capacity).contains(&aisle.stock));
                assert!(0 < aisle.price.0 && aisle.price <= aisle.show_price);
                assert!(aisle.layer >= 1 && aisle.code.len() == 3, "{}", aisle.code);
            }
            assert!(aisles.iter().filter(|aisle| aisle.enabled && !aisle.broken).count() > 12);
        }
    }

    #[test]
    fn the_device_out_of_service_exists() {
        let fleet = fleet();
        let off: Vec<_> = fleet.devices.iter().filter(|d| d.enabled == Some(false)).collect();
        assert_eq!(off.len(), 1);
    }

    #[test]
    fn accounts_have_different_rights() {
        let accounts = fleet().accounts;
        let rights: Vec<_> = accounts
            .iter()
            .map(|a| {
                (a.third_party_api.unwrap(), a.enabled.unwrap(), a.groups.as_ref().unwrap().len())
            })
            .collect();
        assert_eq!(
            rights,
            [(true, true, 4), (true, true, 1), (false, true, 1), (true, false, 2), (true, true, 0)]
        );
        assert_eq!(DATA.accounts[0].login_name, "demo");
        assert_eq!(DATA.password, "kiosque-demo");
    }

    #[test]
    fn there_are_three_currencies_and_names_in_three_languages() {
        let products = fleet().products;
        let currencies: HashSet<_> = products.iter().map(|p| p.currency.unwrap().code()).collect();
        assert_eq!(currencies, HashSet::from(["USD", "EUR", "JPY"]));
        for word in ["Sandwich", "乌龙茶", "Eau gazeuse"] {
            assert!(products.iter().any(|p| p.name.as_ref().unwrap().contains(word)), "{word}");
        }
    }
}
