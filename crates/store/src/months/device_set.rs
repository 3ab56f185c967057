//! A set of devices.

use std::collections::BTreeMap;

use kiosque_model::DeviceNo;

use crate::Error;

/// A set of devices: 64 device numbers to a word, of which one bit each is set. Words without a bit
/// are absent.
///
/// As text: the words in order, each as its number, a colon and its bits in hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceSet(BTreeMap<i64, u64>);

impl DeviceSet {
    pub(crate) fn insert(&mut self, device: DeviceNo) {
        *self.0.entry(device.0 >> 6).or_default() |= 1 << (device.0 & 63);
    }

    /// Adds all devices of another set.
    pub(crate) fn join(&mut self, other: &DeviceSet) {
        for (word, bits) in &other.0 {
            *self.0.entry(*word).or_default() |= bits;
        }
    }

    /// Returns the number of devices.
    pub(crate) fn len(&self) -> i64 {
        self.0.values().map(|bits| i64::from(bits.count_ones())).sum()
    }

    /// Returns the text to store.
    pub(crate) fn text(&self) -> String {
        let words = self.0.iter().map(|(word, bits)| format!("{word}:{bits:x}"));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Parses a stored text.
    pub(crate) fn parse(text: &str) -> Result<DeviceSet, Error> {
        let word = |part: &str| {
            let (word, bits) = part.split_once(':')?;
            Some((word.parse().ok()?, u64::from_str_radix(bits, 16).ok()?))
        };
        let words = text.split_ascii_whitespace().map(word).collect::<Option<_>>();
        words.map(DeviceSet).ok_or_else(|| Error::Data(format!("{text:?} is no set of devices")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(devices: &[i64]) -> DeviceSet {
        let mut set = DeviceSet::default();
        devices.iter().for_each(|device| set.insert(DeviceNo(*device)));
        set
    }

    #[test]
    fn sets_are_joined_counted_and_stored() {
        let mut joined = set(&[0, 1, 63, 64, 20_000, 1]);
        assert_eq!(
            (joined.len(), joined.text().as_str()),
            (5, "0:8000000000000003 1:1 312:100000000")
        );
        joined.join(&set(&[1, 2, i64::MAX, -1]));
        assert_eq!(joined.len(), 8);
        assert_eq!(DeviceSet::parse(&joined.text()).expect("a set"), joined);
        assert_eq!(DeviceSet::parse("").expect("no device").len(), 0);
        for text in ["1", "1:", ":1", "1:g", "x:1", "1:1,2:1"] {
            assert!(DeviceSet::parse(text).is_err(), "{text}");
        }
    }
}
