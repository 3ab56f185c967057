//! The devices that sold a product in a month, each with its days, as bytes: of each device its
//! distance from the one before, and a bit for each day.

use kiosque_model::{Day, DeviceNo};

use super::varint::{put, take};
use crate::Error;

/// Devices whose numbers begin alike share the rows of a product, so that a row stays small in a
/// group with thousands of devices.
const BLOCK: i64 = 1_024;

/// Returns the number of the block that a device is in.
pub(crate) fn block_of(device: DeviceNo) -> i64 {
    device.0.div_euclid(BLOCK)
}

/// The devices of a block that sold a product in a month, each with a bit for each day on which it
/// did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sellers(
    /// By device.
    Vec<(DeviceNo, u32)>,
);

impl Sellers {
    /// Adds a day of the month that begins with `month` to those of a device.
    pub(crate) fn insert(&mut self, device: DeviceNo, (month, day): (Day, Day)) {
        self.insert_days(device, bit_of(month, day));
    }

    /// Removes a day from those of a device.
    pub(super) fn remove(&mut self, device: DeviceNo, (month, day): (Day, Day)) {
        let Ok(at) = self.0.binary_search_by_key(&device, |(device, _)| *device) else { return };
        let Some((_, days)) = self.0.get_mut(at) else { return };
        *days &= !bit_of(month, day);
        if *days == 0 {
            self.0.remove(at);
        }
    }

    /// Adds the days of other sellers.
    pub(super) fn join(&mut self, other: &Sellers) {
        for (device, days) in &other.0 {
            self.insert_days(*device, *days);
        }
    }

    fn insert_days(&mut self, device: DeviceNo, days: u32) {
        match self.0.binary_search_by_key(&device, |(device, _)| *device) {
            Ok(at) => self.0.get_mut(at).into_iter().for_each(|(_, known)| *known |= days),
            Err(at) => self.0.insert(at, (device, days)),
        }
    }

    /// Returns each device with each of its days.
    pub(crate) fn days(&self, month: Day) -> impl Iterator<Item = (DeviceNo, Day)> {
        let days = move |days: &u32| {
            let days = *days;
            (0..31).filter(move |number| days >> number & 1 == 1).map(move |at| Day(month.0 + at))
        };
        self.0.iter().flat_map(move |(device, of)| days(of).map(|day| (*device, day)))
    }

    /// Returns the bytes to store of the devices of a block.
    pub(crate) fn bytes(&self, block: i64) -> Vec<u8> {
        let (mut bytes, mut before) = (Vec::with_capacity(self.0.len() * 5), block * BLOCK);
        for (device, days) in &self.0 {
            put(&mut bytes, device.0 - before);
            put(&mut bytes, i64::from(*days));
            before = device.0;
        }
        bytes
    }

    /// Reads the stored bytes of a block.
    pub(crate) fn parse(bytes: &[u8], block: i64) -> Result<Sellers, Error> {
        let mut sellers = Sellers::default();
        each_seller(bytes, block, |device, days| sellers.0.push((device, days)))?;
        Ok(sellers)
    }
}

/// Returns the bit of a day of the month that begins with `month`.
fn bit_of(month: Day, day: Day) -> u32 {
    let number = u32::try_from(day.0 - month.0).unwrap_or(u32::MAX);
    1_u32.checked_shl(number).unwrap_or(0)
}

/// Returns the bits of those days of the month that begins with `month` that are in `includes`.
pub(crate) fn bits_of(month: Day, includes: impl Fn(Day) -> bool) -> u32 {
    let days = (month.0..month.0 + 31).map(Day).filter(|day| includes(*day));
    days.fold(0, |bits, day| bits | bit_of(month, day))
}

/// Visits the devices of stored bytes of a block, in the order of their numbers, each with the bits
/// of its days.
pub(crate) fn each_seller(
    bytes: &[u8],
    block: i64,
    mut visit: impl FnMut(DeviceNo, u32),
) -> Result<(), Error> {
    let fault =
        || Error::Data(format!("the devices {bytes:02x?} are not a device and its days for each"));
    let end = block.checked_add(1).and_then(|next| next.checked_mul(BLOCK)).ok_or_else(fault)?;
    let (mut rest, mut next) = (bytes, end - BLOCK);
    while !rest.is_empty() {
        let distance = take(&mut rest).filter(|distance| (0..BLOCK).contains(distance));
        let days =
            take(&mut rest).and_then(|days| u32::try_from(days).ok()).filter(|days| *days > 0);
        let (distance, days) = distance.zip(days).ok_or_else(fault)?;
        visit(DeviceNo(next + distance), days);
        next += distance;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days_of(sellers: &Sellers) -> Vec<(i64, i64)> {
        sellers.days(Day(31)).map(|(device, day)| (device.0, day.0)).collect()
    }

    #[test]
    fn devices_are_read_with_their_days_as_they_were_written() {
        let mut sellers = Sellers::default();
        for (device, day) in [(1_030, 31), (2_047, 58), (1_024, 40), (1_030, 31), (1_030, 33)] {
            sellers.insert(DeviceNo(device), (Day(31), Day(day)));
        }
        let all = [(1_024, 40), (1_030, 31), (1_030, 33), (2_047, 58)];
        assert_eq!(days_of(&sellers), all);
        let read = Sellers::parse(&sellers.bytes(1), 1).expect("devices");
        assert_eq!(read, sellers);
        sellers.remove(DeviceNo(1_030), (Day(31), Day(33)));
        sellers.remove(DeviceNo(1_024), (Day(31), Day(40)));
        sellers.remove(DeviceNo(7), (Day(31), Day(40)));
        assert_eq!(days_of(&sellers), [(1_030, 31), (2_047, 58)]);
        sellers.join(&read);
        assert_eq!(days_of(&sellers), all);
        assert_eq!(
            [-1, 0, 1_023, 1_024, 2_047].map(|device| block_of(DeviceNo(device))),
            [-1, 0, 0, 1, 1]
        );
        assert_eq!(bits_of(Day(31), |day| day.0 < 33 || day.0 == 58), 1 << 27 | 3);
    }

    #[test]
    fn bytes_of_another_form_are_an_error() {
        for bytes in [&[2][..], &[2, 0], &[2, 1], &[1, 2], &[128, 16, 2], &[2, 0x80]] {
            let error = Sellers::parse(bytes, 0).expect_err("no devices");
            assert!(error.to_string().contains("are not a device and its days"), "{error}");
        }
        assert!(Sellers::parse(&[2, 2], i64::MAX).is_err());
    }
}
