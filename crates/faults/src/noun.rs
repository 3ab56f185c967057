//! The names of calls in `--fault`. `kiosque remote` has the same names.

use kiosque_contract::Endpoint;
use kiosque_contract::endpoint::{
    BestSellingProduct, DeviceAisle, DevicePage, DeviceProfile, LogIn, LogOut, OnlineDevices,
    OrderChanges, OrderDetail, QueryOrderList, SalesByDevice, SalesTrend, Summary, SwitchGroup,
};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// A call of the interface.
#[derive(IntoStaticStr, EnumString, VariantArray)]
#[strum(serialize_all = "kebab-case")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Noun {
    /// Log in.
    Login,
    /// Switch group.
    Switch,
    /// Log out.
    Logout,
    /// List devices.
    Devices,
    /// List orders.
    Orders,
    /// Order detail.
    Order,
    /// The change feed.
    Changes,
    /// Dashboard summary.
    Summary,
    /// Best-selling product.
    BestSellers,
    /// Sales by device.
    ByDevice,
    /// Sales trend.
    Trend,
    /// Device aisle hierarchy.
    Aisles,
    /// Device profile.
    Profile,
    /// Online devices.
    Online,
}

/// Several calls at once, by the name of their common answers.
const GROUPS: (&str, &[Noun]) = ("groups", &[Noun::Login, Noun::Switch]);

impl Noun {
    /// Every call, in the order of ADDR-1.
    pub(crate) const ALL: &[Noun] = Noun::VARIANTS;

    /// The calls that take a token.
    pub(crate) const WITH_TOKEN: &[Noun] = Noun::ALL.split_at(1).1;
    /// The calls whose answers contain a token.
    pub(crate) const SESSIONS: &[Noun] = GROUPS.1;
    /// The calls that are paged.
    pub(crate) const PAGES: &[Noun] = &[Noun::Devices, Noun::Orders];
    /// The calls whose answers are lists.
    pub(crate) const LISTS: &[Noun] = &[
        Noun::Devices,
        Noun::Orders,
        Noun::Changes,
        Noun::ByDevice,
        Noun::Trend,
        Noun::Aisles,
        Noun::Profile,
        Noun::Online,
    ];

    /// Returns the name.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the path, `/v8` included.
    pub(crate) const fn route(self) -> &'static str {
        match self {
            Noun::Login => LogIn::ROUTE,
            Noun::Switch => SwitchGroup::ROUTE,
            Noun::Logout => LogOut::ROUTE,
            Noun::Devices => DevicePage::ROUTE,
            Noun::Orders => QueryOrderList::ROUTE,
            Noun::Order => OrderDetail::ROUTE,
            Noun::Changes => OrderChanges::ROUTE,
            Noun::Summary => Summary::ROUTE,
            Noun::BestSellers => BestSellingProduct::ROUTE,
            Noun::ByDevice => SalesByDevice::ROUTE,
            Noun::Trend => SalesTrend::ROUTE,
            Noun::Aisles => DeviceAisle::ROUTE,
            Noun::Profile => DeviceProfile::ROUTE,
            Noun::Online => OnlineDevices::ROUTE,
        }
    }

    /// Returns the names of calls.
    pub(crate) fn joined(nouns: &[Noun]) -> String {
        nouns.iter().map(|noun| noun.name()).collect::<Vec<_>>().join(", ")
    }

    /// Returns the call with this path.
    pub(crate) fn at(path: &str) -> Option<Noun> {
        Noun::ALL.iter().copied().find(|noun| noun.route() == path)
    }

    /// Returns the calls that a name selects.
    pub(crate) fn named(name: &str) -> Option<Vec<Noun>> {
        if name == GROUPS.0 {
            return Some(GROUPS.1.to_vec());
        }
        name.parse().ok().map(|noun| vec![noun])
    }

    /// Returns every name that selects calls, for messages.
    pub(crate) fn names() -> String {
        format!("{}, {}", Noun::joined(Noun::ALL), GROUPS.0)
    }
}

#[cfg(test)]
mod tests {
    use kiosque_contract::ENDPOINTS;

    use super::*;

    /// ADDR-1: every call can be selected.
    #[test]
    fn every_call_has_a_name_of_its_own() {
        for endpoint in ENDPOINTS {
            let noun = Noun::at(endpoint.route).expect(endpoint.name);
            assert_eq!(Noun::named(noun.name()), Some(vec![noun]));
        }
        assert_eq!(Noun::named("groups"), Some(vec![Noun::Login, Noun::Switch]));
        assert_eq!(Noun::at("/v8/unknown"), None);
    }
}
