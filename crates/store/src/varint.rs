//! Numbers in few bytes: LEB128, with the sign in the lowest bit.

/// Appends a number.
pub(crate) fn put(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned();
    while rest >= 0x80 {
        bytes.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    bytes.push(rest.to_le_bytes()[0]);
}

/// Reads the number at the beginning of `bytes`, and advances them; `None` if there is none.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> Option<i64> {
    let (byte, rest) = bytes.split_first()?;
    *bytes = rest;
    // Most numbers have one byte.
    let number =
        if *byte < 0x80 { u64::from(*byte) } else { take_rest(u64::from(byte & 0x7f), bytes)? };
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

/// Reads the rest of a number whose lowest seven bits are `number`.
fn take_rest(mut number: u64, bytes: &mut &[u8]) -> Option<u64> {
    let mut shift = 7;
    loop {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        number |= bits.checked_shl(shift).filter(|shifted| shifted >> shift == bits)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let numbers = [0, 1, -1, 63, 64, -64, -65, 450, i64::MAX, i64::MIN];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| put(&mut bytes, *number));
        assert_eq!(bytes[..5], [0, 2, 1, 126, 128]);
        let mut rest = bytes.as_slice();
        for number in numbers {
            assert_eq!(take(&mut rest), Some(number));
        }
        assert_eq!((take(&mut rest), rest.len()), (None, 0));
    }

    #[test]
    fn a_number_that_is_cut_or_too_large_is_refused() {
        for bytes in [
            &[0x80][..],
            &[0xff; 9],
            &[0xff; 11],
            &[255, 255, 255, 255, 255, 255, 255, 255, 255, 2],
        ] {
            let mut rest = bytes;
            assert_eq!(take(&mut rest), None, "{bytes:?}");
        }
    }
}
