//! The demonstration fleet: fixed groups, accounts, products and stocked devices.

use kiosque_model::fleet::{AccountEntry, DeviceEntry, Fleet, GroupEntry, Password, ProductEntry};
use kiosque_model::money::{Currency, Minor};
use kiosque_model::{GroupId, LoginName};

use super::kiosks::{Kiosk, OUT_OF_SERVICE, kiosks};
use super::products::RANGES;
use super::sites::{
    AIRPORT_GROUP, HARBOR_GROUP, LAKESIDE_GROUP, METROPOLE_GROUP, SITES, TOKYO_GROUP,
};

/// An account of the demonstration.
#[derive(Debug)]
pub(crate) struct DemoAccount {
    /// Login name.
    pub(crate) login_name: &'static str,
    /// Password.
    pub(crate) password: &'static str,
    /// A sentence on the behaviour that it demonstrates.
    pub(crate) shows: &'static str,
    display_name: &'static str,
    groups: &'static [&'static str],
    access: Access,
}

/// The access of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Api,
    NoApi,
    Disabled,
}

/// A device of the first account's default group, for the example calls.
pub(crate) const FIRST_DEVICE: &str = "HBR-001";

/// All accounts; the example calls use the first.
pub(crate) const ACCOUNTS: [DemoAccount; 5] = [
    DemoAccount {
        login_name: "demo",
        password: "kiosque-demo",
        shows: "switches between three groups (USD, EUR, JPY); a fourth is deactivated and refused",
        display_name: "Demonstration",
        groups: &[HARBOR_GROUP, METROPOLE_GROUP, TOKYO_GROUP, AIRPORT_GROUP],
        access: Access::Api,
    },
    DemoAccount {
        login_name: "campus",
        password: "kiosque-demo",
        shows: "has a single group; every other one is out of its scope",
        display_name: "Lakeside bookkeeping",
        groups: &[LAKESIDE_GROUP],
        access: Access::Api,
    },
    DemoAccount {
        login_name: "office",
        password: "kiosque-demo",
        shows: "is refused, because third-party API access is off",
        display_name: "Harbor front desk",
        groups: &[HARBOR_GROUP],
        access: Access::NoApi,
    },
    DemoAccount {
        login_name: "former",
        password: "kiosque-demo",
        shows: "is refused like an unknown name, because it is disabled",
        display_name: "Former partner",
        groups: &[METROPOLE_GROUP, TOKYO_GROUP],
        access: Access::Disabled,
    },
    DemoAccount {
        login_name: "newcomer",
        password: "kiosque-demo",
        shows: "is refused, because no group is assigned to it yet",
        display_name: "Newcomer",
        groups: &[],
        access: Access::Api,
    },
];

/// Returns the fleet.
pub(crate) fn fleet() -> Fleet {
    Fleet {
        groups: groups(),
        accounts: ACCOUNTS.iter().map(account).collect(),
        products: products(),
        devices: kiosks().into_iter().map(device).collect(),
    }
}

fn group_id(text: &str) -> GroupId {
    GroupId::parse(text).expect("the tables hold ids")
}

fn groups() -> Vec<GroupEntry> {
    SITES
        .into_iter()
        .map(|site| GroupEntry {
            id: group_id(site.group),
            name: Some(site.name.to_owned()),
            active: Some(site.closed_weeks_ago.is_none()),
        })
        .collect()
}

fn account(account: &DemoAccount) -> AccountEntry {
    AccountEntry {
        login_name: LoginName::parse(account.login_name).expect("the tables hold ids"),
        display_name: Some(account.display_name.to_owned()),
        password: Some(Password::Clear(account.password.to_owned())),
        third_party_api: Some(account.access != Access::NoApi),
        enabled: Some(account.access != Access::Disabled),
        groups: Some(account.groups.iter().copied().map(group_id).collect()),
    }
}

fn products() -> Vec<ProductEntry> {
    let priced = RANGES.into_iter().flat_map(|range| {
        let currency = Currency::parse(range.currency).expect("the tables hold ISO 4217 codes");
        range.products.iter().map(move |product| (currency, product))
    });
    priced
        .map(|(currency, product)| ProductEntry {
            id: product.id.to_owned(),
            name: Some(product.name.to_owned()),
            category: Some(product.category.name().to_owned()),
            currency: Some(currency),
            default_price: Some(Minor(product.price)),
        })
        .collect()
}

fn device(kiosk: Kiosk) -> DeviceEntry {
    DeviceEntry {
        name: Some(kiosk.location.name.to_owned()),
        group: Some(group_id(kiosk.site.group)),
        since: None,
        model: Some(kiosk.location.build.model().to_owned()),
        address: Some(kiosk.location.address.to_owned()),
        enabled: Some(kiosk.code.as_str() != OUT_OF_SERVICE),
        aisles: Some(kiosk.aisles.into_iter().map(|(aisle, _)| aisle).collect()),
        code: kiosk.code,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn unique<T: Eq + std::hash::Hash>(all: impl Iterator<Item = T>) -> bool {
        let mut seen = HashSet::new();
        all.into_iter().all(|one| seen.insert(one))
    }

    #[test]
    fn it_is_the_same_each_time_and_large_enough_to_look_around() {
        let fleet = fleet();
        assert_eq!(fleet, super::fleet());
        assert_eq!(fleet.groups.len(), 5);
        assert_eq!(fleet.groups.iter().filter(|group| group.active == Some(false)).count(), 1);
        assert_eq!(fleet.devices.len(), 40);
        assert!((55..=65).contains(&fleet.products.len()), "{}", fleet.products.len());
    }

    #[test]
    fn ids_and_codes_are_unique() {
        let fleet = fleet();
        assert!(unique(fleet.groups.iter().map(|group| &group.id)));
        assert!(unique(fleet.accounts.iter().map(|account| &account.login_name)));
        assert!(unique(fleet.products.iter().map(|product| &product.id)));
        assert!(unique(fleet.products.iter().map(|product| &product.name)));
        assert!(unique(fleet.devices.iter().map(|device| &device.code)));
        assert!(unique(fleet.devices.iter().map(|device| &device.name)));
        for device in &fleet.devices {
            let aisles = device.aisles.as_ref().unwrap();
            assert!(unique(aisles.iter().map(|aisle| &aisle.code)), "{}", device.code);
        }
    }

    #[test]
    fn it_refers_only_to_what_exists() {
        let fleet = fleet();
        let groups: HashSet<_> = fleet.groups.iter().map(|group| &group.id).collect();
        let products: HashSet<_> = fleet.products.iter().map(|product| &product.id).collect();
        for account in &fleet.accounts {
            assert!(account.groups.iter().flatten().all(|group| groups.contains(group)));
        }
        for device in &fleet.devices {
            assert!(groups.contains(device.group.as_ref().unwrap()), "{}", device.code);
            for aisle in device.aisles.iter().flatten() {
                assert!(products.contains(&aisle.goods_id), "{} {}", device.code, aisle.code);
            }
        }
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
        assert_eq!(ACCOUNTS[0].login_name, "demo");
        assert_eq!(ACCOUNTS[0].password, "kiosque-demo");
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
