//! Cursors: keys of lists, opaque to callers.

use kiosque_model::fleet::{EntryId, EntryKind};
use kiosque_model::{Currency, Day, DeviceNo, GroupNo, UnixMs};
use kiosque_store::{OrderKey, OrderPlace, RateKey};

/// A key after which a page begins.
pub(super) trait Cursor: Sized {
    /// Returns the key as a cursor.
    fn write(&self) -> String;

    /// Parses a cursor; `None` if it is not one of this list.
    fn read(text: &str) -> Option<Self>;
}

/// The number of an entry of the audit trail, or of an import.
impl Cursor for i64 {
    fn write(&self) -> String {
        format!("{self:016x}")
    }

    fn read(text: &str) -> Option<i64> {
        i64::from_str_radix(text, 16).ok().filter(|number| *number > 0)
    }
}

impl Cursor for String {
    fn write(&self) -> String {
        self.bytes().map(|byte| format!("{byte:02x}")).collect()
    }

    fn read(text: &str) -> Option<String> {
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes = pairs.iter().map(byte).collect::<Option<Vec<u8>>>()?;
        let text = String::from_utf8(bytes).ok().filter(|_| rest.is_empty())?;
        Some(text).filter(|text| !text.contains('\0'))
    }
}

impl Cursor for RateKey {
    fn write(&self) -> String {
        let (currency, Day(day)) = self;
        format!("{currency} {day}").write()
    }

    fn read(text: &str) -> Option<RateKey> {
        let text = String::read(text)?;
        let (currency, day) = text.split_once(' ')?;
        Some((Currency::parse(currency).ok()?, Day(day.parse().ok()?)))
    }
}

impl Cursor for OrderKey {
    fn write(&self) -> String {
        let OrderKey { group, device_code, seq } = self;
        format!("{group} {seq} {device_code}").write()
    }

    fn read(text: &str) -> Option<OrderKey> {
        let text = String::read(text)?;
        let mut parts = text.splitn(3, ' ');
        let group = parts.next()?.parse().ok()?;
        let seq = parts.next()?.parse().ok()?;
        Some(OrderKey { group, seq, device_code: parts.next()?.to_owned() })
    }
}

impl Cursor for OrderPlace {
    fn write(&self) -> String {
        let OrderPlace { at: UnixMs(at), group: GroupNo(group), device: DeviceNo(device), seq } =
            self;
        format!("t {at} {group} {device} {seq}").write()
    }

    fn read(text: &str) -> Option<OrderPlace> {
        read_place(String::read(text)?.strip_prefix("t ")?, ' ')
    }
}

/// Parses the numbers of a place.
pub(crate) fn read_place(text: &str, separator: char) -> Option<OrderPlace> {
    let mut parts = text.splitn(4, separator).map(|part| part.parse().ok());
    let mut next = || parts.next().flatten();
    let (at, group, device) = (UnixMs(next()?), GroupNo(next()?), DeviceNo(next()?));
    Some(OrderPlace { at, group, device, seq: next()? })
}

/// The kinds of entries, each with the first letter of its cursors.
const KINDS: [(&str, EntryKind); 4] = [
    ("g", EntryKind::Group),
    ("a", EntryKind::Account),
    ("p", EntryKind::Product),
    ("d", EntryKind::Device),
];

impl Cursor for EntryId {
    fn write(&self) -> String {
        let of_kind = KINDS.iter().find(|(_, kind)| *kind == self.kind);
        format!("{}{}", of_kind.map_or("", |(initial, _)| initial), self.id).write()
    }

    fn read(text: &str) -> Option<EntryId> {
        let text = String::read(text)?;
        let entry =
            |(initial, kind): &(&str, _)| Some(EntryId::new(*kind, text.strip_prefix(initial)?));
        KINDS.iter().find_map(entry)
    }
}

/// Returns the keys for which a text is a cursor, for every kind of list, as cursors again.
pub fn rewritten_cursors(text: &str) -> Vec<String> {
    fn again<K: Cursor>(text: &str) -> Option<String> {
        K::read(text).map(|key| key.write())
    }
    let kinds = [
        again::<i64>,
        again::<String>,
        again::<RateKey>,
        again::<OrderKey>,
        again::<OrderPlace>,
        again::<EntryId>,
    ];
    kinds.into_iter().filter_map(|again| again(text)).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use proptest::prelude::*;

    use super::*;

    fn check<K: Cursor + Debug + PartialEq>(key: &K) {
        assert_eq!(K::read(&key.write()).as_ref(), Some(key));
    }

    #[test]
    fn cursors_are_read_back() {
        check(&"K-001 é".to_owned());
        check(&(Currency::parse("EUR").expect("a currency"), Day(-9)));
        check(&OrderKey { group: 3, device_code: "a b  c".to_owned(), seq: i64::MAX });
        let (group, device) = (GroupNo(3), DeviceNo(i64::MAX));
        check(&OrderPlace { at: UnixMs(-1), group, device, seq: -1 });
        check(&EntryId::new(EntryKind::Account, "gd"));
        check(&EntryId::new(EntryKind::Device, ""));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9a-f ]{0,20}|.{0,20}") {
            let _ = (i64::read(&text), String::read(&text), RateKey::read(&text));
            let _ = (OrderKey::read(&text), EntryId::read(&text), OrderPlace::read(&text));
        }
    }
}
