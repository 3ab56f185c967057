//! Sets of devices, by the blocks in which their sums are stored.

use std::collections::BTreeMap;

use kiosque_model::DeviceNo;

use super::device_block::{SIZE, block_of};

/// The words of a block.
const WORDS: usize = 4;
/// The devices of a word.
const BITS: i64 = SIZE / WORDS as i64;
const _: () = assert!(BITS <= u64::BITS as i64);

/// A set of devices: a bit for each number of a block. The devices of a report are in few blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceSet(BTreeMap<i64, [u64; WORDS]>);

impl DeviceSet {
    pub(crate) fn insert(&mut self, device: DeviceNo) {
        let (word, bit) = place_of(device);
        if let Some(word) = self.0.entry(block_of(device)).or_default().get_mut(word) {
            *word |= bit;
        }
    }

    pub(crate) fn contains(&self, device: DeviceNo) -> bool {
        let (word, bit) = place_of(device);
        let word = self.0.get(&block_of(device)).and_then(|words| words.get(word));
        word.is_some_and(|word| word & bit != 0)
    }

    /// Returns the number of devices.
    pub(crate) fn len(&self) -> i64 {
        self.0.values().flatten().map(|word| i64::from(word.count_ones())).sum()
    }

    /// Returns the blocks that have devices of the set, in order.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = i64> {
        self.0.keys().copied()
    }
}

impl FromIterator<DeviceNo> for DeviceSet {
    fn from_iter<T: IntoIterator<Item = DeviceNo>>(devices: T) -> DeviceSet {
        let mut set = DeviceSet::default();
        devices.into_iter().for_each(|device| set.insert(device));
        set
    }
}

/// Returns the word and the bit of a device in its block.
fn place_of(device: DeviceNo) -> (usize, u64) {
    let number = device.0.rem_euclid(SIZE);
    (usize::try_from(number / BITS).unwrap_or(WORDS), 1 << (number % BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_devices_that_were_inserted_each_once() {
        let numbers = [0, 63, 64, 255, 256, 1_000_000, 63];
        let set: DeviceSet = numbers.map(DeviceNo).into_iter().collect();
        assert_eq!(set.len(), 6);
        assert_eq!(set.blocks().collect::<Vec<_>>(), [0, 1, 3_906]);
        assert!(numbers.iter().all(|number| set.contains(DeviceNo(*number))));
        for absent in [1, 62, 65, 254, 257, 511, 999_999] {
            assert!(!set.contains(DeviceNo(absent)), "{absent}");
        }
        assert_eq!(set, [1_000_000, 256, 255, 64, 63, 0].map(DeviceNo).into_iter().collect());
    }
}
