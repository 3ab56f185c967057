//! What needs the operator's attention.

use std::collections::{BTreeMap, BTreeSet};

use strum::{EnumString, IntoStaticStr, VariantArray};

/// A reason why an enabled device needs attention.
#[derive(IntoStaticStr, EnumString, VariantArray)]
#[strum(serialize_all = "lowercase")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// It is not online.
    Silent,
    /// An aisle is out of order.
    Broken,
    /// An enabled aisle that works has no items.
    Empty,
    /// It is online, but does not sell where it used to sell.
    Unsold,
    /// More of its shipments fail than before.
    Failing,
}

impl Need {
    /// All reasons, the most urgent one first.
    pub const ALL: &[Need] = Need::VARIANTS;

    /// Returns the word for it in URLs.
    pub fn code(self) -> &'static str {
        self.into()
    }
}

/// What needs attention in a group, or in all groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attention {
    /// Enabled devices that an active group owns now.
    pub device_count: i64,
    /// The codes of the devices that need attention, by reason.
    pub needs: BTreeMap<Need, BTreeSet<String>>,
    /// Orders that are being refunded.
    pub refunding: i64,
}

impl Attention {
    /// Returns how many devices need attention for a reason.
    pub fn count(&self, need: Need) -> i64 {
        let found = self.needs.get(&need).map_or(0, BTreeSet::len);
        i64::try_from(found).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_counted_by_the_reasons_in_urls() {
        let codes = ["silent", "broken", "empty", "unsold", "failing"];
        assert_eq!(Need::ALL.iter().map(|need| need.code()).collect::<Vec<_>>(), codes);
        let devices = ["a", "b"].map(str::to_owned).into();
        let needs = [(Need::Empty, devices)].into();
        let attention = Attention { needs, ..Attention::default() };
        assert_eq!((attention.count(Need::Empty), attention.count(Need::Silent)), (2, 0));
    }
}
