//! The devices of a profile as JSON, without their last activity.

use std::ops::Range;

use kiosque_model::{DeviceNo, PageRequest, UnixMs};

use crate::dashboard::DevicePart;
use crate::devices::{Device, OnlineSince};
use crate::error::Error;

/// The field of a record after the code and the name.
const AFTER_NAME: &str = r#","groupId":"#;
/// The fields of a record that are not cached, each with the value in its place.
const ONLINE: &str = r#""isOnline":0"#;
const LAST_ACTIVE: &str = r#""lastActiveTimestamp":null"#;

/// Devices by code.
#[derive(Debug, Default)]
pub(super) struct DeviceTexts(Vec<DeviceText>);

/// A device as JSON without its last activity.
#[derive(Debug)]
pub(super) struct DeviceText {
    number: DeviceNo,
    code: Box<str>,
    json: Box<str>,
    /// The length of the JSON of its code and its name.
    name_len: usize,
    /// The position of the value of `isOnline`.
    online_at: usize,
    /// The position of the value of `lastActiveTimestamp`.
    last_active_at: usize,
}

impl DeviceText {
    /// Returns the text of a device.
    pub(super) fn of(mut device: Device<'_>) -> Result<DeviceText, Error> {
        device.row.last_active_ms = None;
        let code = device.row.device_code;
        let never = OnlineSince(UnixMs(i64::MAX));
        let json = serde_json::to_string(&device.record(never))
            .map_err(|error| Error::Data(format!("device {code}: {error}")))?;
        // None of these texts is part of a string: the quotes in it would be escaped.
        let at = |field: &str| Some(json.find(field)? + field.rfind(':')? + 1);
        let (Some(name_len), Some(online_at), Some(last_active_at)) =
            (json.find(AFTER_NAME), at(ONLINE), at(LAST_ACTIVE))
        else {
            return Err(Error::Data(format!("device {code}: no activity in {json}")));
        };
        Ok(DeviceText {
            number: device.row.device_no,
            code: code.into(),
            json: json.into(),
            name_len,
            online_at,
            last_active_at,
        })
    }

    pub(super) fn number(&self) -> DeviceNo {
        self.number
    }

    pub(super) fn code(&self) -> &str {
        &self.code
    }

    /// Appends the JSON of [`kiosque_contract::DeviceRecord`].
    pub(super) fn put_record(
        &self,
        last_active: Option<UnixMs>,
        online: OnlineSince,
        json: &mut Vec<u8>,
    ) {
        let texts = [
            self.text(0..self.online_at),
            self.text(self.online_at + "0".len()..self.last_active_at),
            self.text(self.last_active_at + "null".len()..self.json.len()),
        ];
        put(texts, last_active, online, json);
    }

    /// Appends the JSON of [`kiosque_contract::OnlineDevice`].
    pub(super) fn put_online(
        &self,
        last_active: Option<UnixMs>,
        online: OnlineSince,
        json: &mut Vec<u8>,
    ) {
        json.extend_from_slice(self.text(0..self.name_len).as_bytes());
        let texts = [r#","isOnline":"#, r#","lastActiveTimestamp":"#, "}"];
        put(texts, last_active, online, json);
    }

    fn text(&self, range: Range<usize>) -> &str {
        self.json.get(range).unwrap_or_default()
    }
}

/// Appends texts with `isOnline` and `lastActiveTimestamp` between them.
fn put(texts: [&str; 3], last_active: Option<UnixMs>, online: OnlineSince, json: &mut Vec<u8>) {
    let [before, between, after] = texts;
    json.extend_from_slice(before.as_bytes());
    json.push(if online.holds(last_active) { b'1' } else { b'0' });
    json.extend_from_slice(between.as_bytes());
    match last_active {
        Some(last) => json.extend_from_slice(last.0.to_string().as_bytes()),
        None => json.extend_from_slice(b"null"),
    }
    json.extend_from_slice(after.as_bytes());
}

impl DeviceTexts {
    /// Adds a device. Devices are added by code.
    pub(super) fn add(&mut self, device: Device<'_>) -> Result<(), Error> {
        self.0.push(DeviceText::of(device)?);
        Ok(())
    }

    /// Returns the number of devices.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the size in bytes.
    pub(super) fn size(&self) -> usize {
        let texts = self.0.iter().map(|device| device.code.len() + device.json.len());
        size_of_val(self.0.as_slice()) + texts.sum::<usize>()
    }

    /// Returns the code of the device before a position; an empty text before the first.
    fn code_before(&self, end: usize) -> &str {
        let device = end.checked_sub(1).and_then(|index| self.0.get(index));
        device.map_or("", |device| &device.code)
    }

    /// Returns the devices of a part; `None` if the device before the part is not among them.
    pub(super) fn part(&self, part: &DevicePart) -> Option<Range<usize>> {
        let start = self.0.partition_point(|device| *device.code <= *part.after);
        let is_known = self.code_before(start) == part.after;
        is_known.then(|| start..start.saturating_add(part.size).min(self.len()))
    }

    /// Returns the devices of a page.
    pub(super) fn page(&self, page: PageRequest) -> Range<usize> {
        let place = |at: i64| usize::try_from(at).map_or(self.len(), |at| at.min(self.len()));
        place(page.skip())..place(page.skip().saturating_add(page.size()))
    }

    /// Returns the code before some devices, and the code of the last one.
    pub(super) fn bounds(&self, place: &Range<usize>) -> (&str, &str) {
        (self.code_before(place.start), self.code_before(place.end))
    }

    /// Returns some devices.
    pub(super) fn get(&self, place: Range<usize>) -> &[DeviceText] {
        self.0.get(place).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use kiosque_model::GroupNo;

    use super::*;
    use crate::accounts::GroupRow;
    use crate::devices::DeviceRow;

    fn texts(devices: i64) -> DeviceTexts {
        let mut texts = DeviceTexts::default();
        let owner = &GroupRow {
            group_no: GroupNo(1),
            group_id: "a".to_owned(),
            group_name: r#"","lastActiveTimestamp":null"#.to_owned(),
            active: true,
        };
        for number in 0..devices {
            let row = DeviceRow {
                device_no: DeviceNo(number),
                device_code: &format!("d{number:03}"),
                device_name: r#""isOnline":0"#,
                device_model: "",
                address: "",
                total_curr_stock: 3,
                last_active_ms: Some(UnixMs(7)),
                created_at_ms: UnixMs(1),
            };
            texts.add(Device { row, owner }).expect("JSON");
        }
        texts
    }

    /// An element is the record of its device, including quotes in its names.
    #[test]
    fn elements_are_records_with_the_activity_of_now() {
        let (texts, online) = (texts(3), OnlineSince(UnixMs(50)));
        let devices = texts.get(1..3).iter().zip([None, Some(UnixMs(99))]);
        let records = devices.map(|(device, last_active)| {
            let mut json = Vec::new();
            device.put_record(last_active, online, &mut json);
            let record: kiosque_contract::DeviceRecord<'_> =
                serde_json::from_slice(&json).expect("a record");
            assert_eq!(serde_json::to_vec(&record).expect("JSON"), json);
            assert_eq!(record.device_code, device.code());
            assert_eq!(record.device_name, r#""isOnline":0"#);
            let mut online_json = Vec::new();
            device.put_online(last_active, online, &mut online_json);
            let expected = kiosque_contract::OnlineDevice {
                device_code: record.device_code.clone(),
                device_name: record.device_name.clone(),
                is_online: record.is_online,
                last_active_timestamp: record.last_active_timestamp,
            };
            assert_eq!(serde_json::to_vec(&expected).expect("JSON"), online_json);
            (device.code().to_owned(), record.is_online, record.last_active_timestamp)
        });
        let records: Vec<_> = records.collect();
        assert_eq!(records, [("d001".to_owned(), 0, None), ("d002".to_owned(), 1, Some(99))]);
    }

    #[test]
    fn a_page_ends_with_the_devices() {
        let page = |current, size| texts(5).page(PageRequest::new(current, size).expect("a page"));
        assert_eq!(page(1, 2), 0..2);
        assert_eq!(page(3, 2), 4..5);
        assert_eq!(page(4, 2), 5..5);
        assert_eq!(page(i64::MAX, i64::MAX), 5..5);
    }

    #[test]
    fn a_part_follows_one_of_the_devices() {
        let texts = texts(5);
        let part = |after: &str, size| {
            let place = texts.part(&DevicePart { after: after.to_owned(), size, most_bytes: 0 })?;
            let (before, last) = texts.bounds(&place);
            Some((place, before.to_owned(), last.to_owned()))
        };
        let expected =
            |place, before: &str, last: &str| Some((place, before.to_owned(), last.to_owned()));
        assert_eq!(part("", 2), expected(0..2, "", "d001"));
        assert_eq!(part("d001", 2), expected(2..4, "d001", "d003"));
        assert_eq!(part("d001", usize::MAX), expected(2..5, "d001", "d004"));
        assert_eq!(part("d004", 2), expected(5..5, "d004", "d004"));
        assert_eq!(part("d0015", 2), None);
        assert_eq!(part("a", 2), None);
    }
}
