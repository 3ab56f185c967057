//! The sums of the devices of a block on a day, as bytes: one row, which a transaction reads and
//! writes once, however many of its orders are in it.
//!
//! `devices` has, for each device with sales, its number in the block and its figures. `products`
//! has, for each product, its `goodsId`, its items and amount, the length of the rest, and for each
//! device that sold it the number in the block, items and amount. All numbers are [`varint`]s.
//! Devices are sorted by number, products by `goodsId`.
//!
//! [`varint`]: crate::varint

use std::collections::BTreeMap;

use kiosque_model::{Day, DeviceNo};

use crate::error::Error;
use crate::sql::row;
use crate::varint::{put, take};

/// The number of devices with consecutive numbers that share a row. SQLite keeps rows of up to a
/// kilobyte in its tree, and the rest of longer ones in overflow pages. 25 devices with 100 orders
/// a day in total do not exceed it.
pub(crate) const SIZE: i64 = 256;

row! {
    /// The stored sums of a block's devices on a day: of the devices, for [`each_device`], or of
    /// their products, for [`each_product`].
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct SumsOfDay<'r> {
        pub(crate) day: Day,
        pub(crate) device_block: i64,
        pub(crate) currency: &'r str,
        pub(crate) sums: &'r [u8],
    }
}

/// Returns the number of the block that a device is in.
pub(crate) fn block_of(device: DeviceNo) -> i64 {
    device.0 / SIZE
}

/// Orders, items, amount, refund, shipped and failed.
pub(crate) type DeviceFigures = [i64; 6];
/// Items and amount.
pub(crate) type ProductFigures = [i64; 2];

/// The sums of the devices of a block on a day in a currency, or differences of sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockSums {
    pub(crate) devices: BTreeMap<DeviceNo, DeviceFigures>,
    /// The figures of products by `goodsId` and device.
    pub(crate) products: BTreeMap<String, BTreeMap<DeviceNo, ProductFigures>>,
}

/// A product in stored bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredProduct<'b> {
    /// Its `goodsId`; see [`StoredProduct::goods_id`].
    pub(crate) id_bytes: &'b [u8],
    pub(crate) figures: ProductFigures,
    /// The figures of each device, for [`each_seller`].
    pub(crate) sellers: &'b [u8],
    /// All of its bytes.
    bytes: &'b [u8],
}

impl<'b> StoredProduct<'b> {
    /// Returns the `goodsId` as text.
    pub(crate) fn goods_id(&self) -> Result<&'b str, Error> {
        str::from_utf8(self.id_bytes).map_err(|_| unreadable("products", self.bytes))
    }
}

/// A row as stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredBlock {
    pub(crate) devices: Vec<u8>,
    pub(crate) products: Vec<u8>,
}

impl BlockSums {
    /// Adds figures of a device.
    pub(crate) fn add_device(&mut self, device: DeviceNo, figures: DeviceFigures) {
        add(self.devices.entry(device).or_default(), figures);
    }

    /// Adds figures of a product that a device sold.
    pub(crate) fn add_product(&mut self, device: DeviceNo, goods: &str, figures: ProductFigures) {
        let of_product = match self.products.get_mut(goods) {
            Some(of_product) => of_product,
            None => self.products.entry(goods.to_owned()).or_default(),
        };
        add(of_product.entry(device).or_default(), figures);
    }

    /// Returns the row with these sums added.
    pub(crate) fn added_to(&self, stored: &StoredBlock, block: i64) -> Result<StoredBlock, Error> {
        let mut devices = self.devices.clone();
        each_device(&stored.devices, block, |device, figures| {
            add(devices.entry(device).or_default(), figures);
        })?;
        let devices = figures_of(&devices, block);
        Ok(StoredBlock { devices, products: self.added_to_products(&stored.products, block)? })
    }

    /// Returns the bytes of products with these sums added. Most products are copied as they are.
    fn added_to_products(&self, stored: &[u8], block: i64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::with_capacity(stored.len() + 32 * self.products.len());
        let mut added = self.products.iter().peekable();
        each_product(stored, |product| {
            let is_before = |(goods_id, _): &(&String, _)| goods_id.as_bytes() < product.id_bytes;
            while let Some((goods_id, sellers)) = added.next_if(is_before) {
                put_product(&mut bytes, goods_id, sellers, block);
            }
            match added.next_if(|(goods_id, _)| goods_id.as_bytes() == product.id_bytes) {
                None => bytes.extend_from_slice(product.bytes),
                Some((goods_id, sellers)) => {
                    let mut sellers = sellers.clone();
                    each_seller(product.sellers, block, |device, figures| {
                        add(sellers.entry(device).or_default(), figures);
                    })?;
                    put_product(&mut bytes, goods_id, &sellers, block);
                }
            }
            Ok(())
        })?;
        added.for_each(|(goods_id, sellers)| put_product(&mut bytes, goods_id, sellers, block));
        Ok(bytes)
    }
}

fn add<const N: usize>(sums: &mut [i64; N], figures: [i64; N]) {
    sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
}

/// Appends a product with its devices, unless all figures are zero.
fn put_product(
    bytes: &mut Vec<u8>,
    goods_id: &str,
    sellers: &BTreeMap<DeviceNo, ProductFigures>,
    block: i64,
) {
    let mut sums = [0, 0];
    let list = figures_of(sellers, block);
    if list.is_empty() {
        return;
    }
    sellers.values().for_each(|figures| add(&mut sums, *figures));
    put_length(bytes, goods_id.len());
    bytes.extend_from_slice(goods_id.as_bytes());
    sums.iter().for_each(|sum| put(bytes, *sum));
    put_length(bytes, list.len());
    bytes.extend_from_slice(&list);
}

/// Returns the bytes of devices and their figures, without devices whose figures are all zero.
fn figures_of<const N: usize>(sums: &BTreeMap<DeviceNo, [i64; N]>, block: i64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(sums.len() * (N + 3));
    for (device, figures) in sums.iter().filter(|(_, figures)| **figures != [0; N]) {
        put(&mut bytes, device.0 - block * SIZE);
        figures.iter().for_each(|figure| put(&mut bytes, *figure));
    }
    bytes
}

fn put_length(bytes: &mut Vec<u8>, length: usize) {
    put(bytes, i64::try_from(length).unwrap_or(i64::MAX));
}

/// Visits the figures of each device in the stored bytes of a block.
pub(crate) fn each_device(
    bytes: &[u8],
    block: i64,
    visit: impl FnMut(DeviceNo, DeviceFigures),
) -> Result<(), Error> {
    each(bytes, block, visit).ok_or_else(|| unreadable("devices", bytes))
}

/// Visits the figures of each device that sold a product of a block.
pub(crate) fn each_seller(
    bytes: &[u8],
    block: i64,
    visit: impl FnMut(DeviceNo, ProductFigures),
) -> Result<(), Error> {
    each(bytes, block, visit).ok_or_else(|| unreadable("the devices of a product", bytes))
}

/// Visits the products in the stored bytes of a block.
pub(crate) fn each_product<'b>(
    bytes: &'b [u8],
    mut visit: impl FnMut(StoredProduct<'b>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rest = bytes;
    let mut before = None;
    while !rest.is_empty() {
        let product = take_product(&mut rest).filter(|product| before < Some(product.id_bytes));
        let product = product.ok_or_else(|| unreadable("products", bytes))?;
        before = Some(product.id_bytes);
        visit(product)?;
    }
    Ok(())
}

fn take_product<'b>(rest: &mut &'b [u8]) -> Option<StoredProduct<'b>> {
    let all = *rest;
    let id_bytes = take_text(rest)?;
    let figures = [take(rest)?, take(rest)?];
    let sellers = take_text(rest)?;
    let bytes = all.get(..all.len() - rest.len())?;
    Some(StoredProduct { id_bytes, figures, sellers, bytes })
}

/// Reads a length and as many bytes.
fn take_text<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::try_from(take(rest)?).ok()?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(text)
}

fn each<const N: usize>(
    bytes: &[u8],
    block: i64,
    mut visit: impl FnMut(DeviceNo, [i64; N]),
) -> Option<()> {
    let mut rest = bytes;
    let mut next = 0;
    let first = block.checked_mul(SIZE)?;
    while !rest.is_empty() {
        let number = take(&mut rest).filter(|number| (next..SIZE).contains(number))?;
        next = number + 1;
        let mut figures = [0; N];
        for figure in &mut figures {
            *figure = take(&mut rest)?;
        }
        visit(DeviceNo(first.checked_add(number)?), figures);
    }
    Some(())
}

fn unreadable(what: &str, bytes: &[u8]) -> Error {
    let begin = bytes.get(..16).unwrap_or(bytes);
    Error::Data(format!(
        "{} bytes that begin with {begin:02x?} cannot be read as the sums of {what} of a day",
        bytes.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(
        devices: &[(i64, DeviceFigures)],
        products: &[(&str, i64, ProductFigures)],
    ) -> BlockSums {
        let mut sums = BlockSums::default();
        for (device, figures) in devices {
            sums.add_device(DeviceNo(*device), *figures);
        }
        for (goods_id, device, figures) in products {
            sums.add_product(DeviceNo(*device), goods_id, *figures);
        }
        sums
    }

    fn read(stored: &StoredBlock, block: i64) -> BlockSums {
        let mut sums = BlockSums::default();
        each_device(&stored.devices, block, |device, figures| sums.add_device(device, figures))
            .expect("devices");
        each_product(&stored.products, |product| {
            let mut sum = [0, 0];
            let goods_id = product.goods_id()?;
            each_seller(product.sellers, block, |device, figures| {
                add(&mut sum, figures);
                sums.add_product(device, goods_id, figures);
            })?;
            assert_eq!(product.figures, sum, "{goods_id}");
            Ok(())
        })
        .expect("products");
        sums
    }

    #[test]
    fn sums_are_read_as_they_were_added() {
        let figures = [1, 2, i64::MAX, 3, i64::MIN, 0];
        let first = sums(
            &[(256, figures), (511, [1; 6])],
            &[("", 256, [2, -900]), ("b", 256, [2, -900]), ("d", 300, [1, 5])],
        );
        let stored = first.added_to(&StoredBlock::default(), 1).expect("sums");
        assert_eq!(read(&stored, 1), first);
        let more = sums(
            &[(511, [-1; 6]), (300, [1; 6])],
            &[
                ("a", 257, [1, 1]),
                ("b", 257, [1, 900]),
                ("c", 511, [1, 2]),
                ("e", 511, [0, 7]),
                ("d", 300, [-1, -5]),
            ],
        );
        let stored = more.added_to(&stored, 1).expect("sums");
        let want = sums(
            &[(256, figures), (300, [1; 6])],
            &[
                ("", 256, [2, -900]),
                ("a", 257, [1, 1]),
                ("b", 256, [2, -900]),
                ("b", 257, [1, 900]),
                ("c", 511, [1, 2]),
                ("e", 511, [0, 7]),
            ],
        );
        assert_eq!(read(&stored, 1), want);
        assert_eq!([0, 255, 256, 511].map(|device| block_of(DeviceNo(device))), [0, 0, 1, 1]);
    }

    #[test]
    fn bytes_of_another_form_are_an_error() {
        let devices = |bytes: &[u8]| each_device(bytes, 0, |_, _| ());
        for bytes in [
            &[0][..],
            &[1, 2, 2, 2, 2, 2, 2],
            &[0, 2, 2, 2, 2, 2, 0x80],
            &[128, 4, 2, 2, 2, 2, 2, 2],
        ] {
            let error = devices(bytes).expect_err("no devices");
            assert!(error.to_string().contains("cannot be read as the sums of devices"), "{error}");
        }
        let twice = [[2, 2, 2, 2, 2, 2, 2], [2, 2, 2, 2, 2, 2, 2]].concat();
        assert!(devices(&twice).is_err(), "a device twice");
        assert!(each_device(&twice[..7], i64::MAX, |_, _| ()).is_err());
        let products = |bytes: &[u8]| each_product(bytes, |product| product.goods_id().map(|_| ()));
        let one = [2, b'p', 2, 2, 0];
        assert!(products(&one).is_ok());
        for bytes in [
            &[2][..],
            &[2, 0xff, 2, 2, 0],
            &[2, b'p', 2, 2],
            &[2, b'p', 2, 2, 4, 0],
            &[1],
            &[one, one].concat(),
        ] {
            let error = products(bytes).expect_err("no products");
            assert!(
                error.to_string().contains("cannot be read as the sums of products"),
                "{error}"
            );
        }
    }
}
