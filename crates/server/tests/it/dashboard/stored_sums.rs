//! Reads the stored sums of sales, as lines to compare with the lines of [`Books::sums`].
//!
//! [`Books::sums`]: super::books::Books::sums

use std::collections::HashMap;

use kiosque_testkit::{TestServer, sql};

/// Devices with consecutive numbers whose sums are one row.
const BLOCK: i64 = 256;

/// Returns the sums of days, and of the products of devices; those that are zero are left out.
pub(super) fn stored_sums(server: &TestServer) -> Vec<String> {
    let codes = server.query(sql::DEVICE_NUMBERS);
    let codes: HashMap<i64, &str> = codes
        .iter()
        .map(|row| row.split_once('|').unwrap())
        .map(|(number, code)| (number.parse().unwrap(), code))
        .collect();
    let mut lines = server.query(sql::SUMS);
    for row in server.query(sql::DEVICE_SUMS) {
        let cells: Vec<&str> = row.split('|').collect();
        let [group, date, block, currency, _, products] = cells[..] else { panic!("{row}") };
        let first = block.parse::<i64>().unwrap() * BLOCK;
        let mut bytes = bytes_of(products).into_iter().peekable();
        while bytes.peek().is_some() {
            let length = number(&mut bytes);
            let goods_id = bytes.by_ref().take(usize::try_from(length).unwrap()).collect();
            let goods_id = String::from_utf8(goods_id).unwrap();
            let _totals = [number(&mut bytes), number(&mut bytes)];
            let length = usize::try_from(number(&mut bytes)).unwrap();
            let mut sellers =
                bytes.by_ref().take(length).collect::<Vec<u8>>().into_iter().peekable();
            while sellers.peek().is_some() {
                let code = codes[&(first + number(&mut sellers))];
                let (items, amount) = (number(&mut sellers), number(&mut sellers));
                lines.push(format!(
                    "product|{group}|{date}|{code}|{goods_id}|{currency}|{items}|{amount}"
                ));
            }
        }
    }
    lines.sort();
    lines
}

fn bytes_of(literal: &str) -> Vec<u8> {
    let digits = literal.strip_prefix("\\x").unwrap();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Reads a number of seven bits a byte, the lowest first, with the sign in the lowest bit.
fn number(bytes: &mut impl Iterator<Item = u8>) -> i64 {
    let (mut number, mut shift) = (0_i64, 0);
    loop {
        let byte = bytes.next().unwrap();
        number |= i64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return (number >> 1) ^ -(number & 1);
        }
        shift += 7;
    }
}
