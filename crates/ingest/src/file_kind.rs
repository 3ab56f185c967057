//! Recognizes files of a wrong kind by their first bytes, so that the message can suggest a remedy.

use std::str;

/// The first bytes of a file, and its kind with the remedy.
const MAGIC: [(&[u8], &str); 6] = [
    (b"\xd0\xcf\x11\xe0", "is an Excel workbook; save the sheet as CSV in UTF-8"),
    (b"\x1f\x8b", "is compressed by gzip; decompress it, for example with zcat"),
    (b"\x28\xb5\x2f\xfd", "is compressed by zstd; decompress it, for example with zstdcat"),
    (b"\xff\xfe", "is UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "is UTF-16; save it as UTF-8"),
    (b"PK\x03\x04", "is a ZIP archive; extract the file"),
];
/// Names of files in an Excel workbook, which is a ZIP archive.
const WORKBOOK: [&[u8]; 2] = [b"[Content_Types].xml", b"xl/"];

/// Returns the kind of a file or a body that is not text in UTF-8, as a verb phrase with the
/// remedy.
pub fn binary(head: &[u8]) -> Option<&'static str> {
    let is_workbook = |name: &&[u8]| head.windows(name.len()).any(|part| part == *name);
    if head.starts_with(b"PK\x03\x04") && WORKBOOK.iter().any(is_workbook) {
        return Some("is an Excel workbook; save the sheet as CSV in UTF-8");
    }
    MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, kind)| *kind)
}

/// Returns whether the first line begins a JSON object.
pub(crate) fn is_json_object(head: &[u8]) -> bool {
    let text = without_byte_order_mark(head).trim_ascii_start();
    let Some(rest) = text.strip_prefix(b"{") else { return false };
    matches!(rest.trim_ascii_start().first(), Some(b'"' | b'}'))
}

/// Returns whether the first two lines have the same number of delimiters, and are not JSON.
pub(crate) fn is_csv(head: &[u8]) -> bool {
    let mut lines = without_byte_order_mark(head).split_inclusive(|byte| *byte == b'\n');
    let mut line = || {
        let line = str::from_utf8(lines.next()?.strip_suffix(b"\n")?).ok()?;
        (!line.trim_start().starts_with(['{', '['])).then_some(line)
    };
    let (Some(header), Some(row)) = (line(), line()) else { return false };
    [',', ';', '\t', '|'].into_iter().any(|delimiter| {
        let count = header.matches(delimiter).count();
        count > 0 && row.matches(delimiter).count() == count
    })
}

fn without_byte_order_mark(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_kinds_of_files_are_recognized() {
        for (head, kind) in [
            (&b"PK\x03\x04\x14\0\x06\0[Content_Types].xml"[..], "is an Excel workbook"),
            (b"PK\x03\x04\x14\0\x06\0orders.csv", "is a ZIP archive"),
            (b"\xd0\xcf\x11\xe0\xa1", "is an Excel workbook"),
            (b"\x1f\x8b\x08", "is compressed by gzip"),
            (b"\xff\xfeI\0", "is UTF-16"),
        ] {
            assert!(binary(head).is_some_and(|found| found.starts_with(kind)), "{head:?}");
        }
        assert_eq!(binary(b"{\"orderId\":1}"), None);
    }

    #[test]
    fn csv_and_json_differ_in_their_first_lines() {
        for csv in ["Id,Total\n1,2\n", "\u{feff}Id;Total\r\n1;2\r\n", "\"Id\"\tTotal\n1\t2\n3"] {
            assert!(is_csv(csv.as_bytes()) && !is_json_object(csv.as_bytes()), "{csv:?}");
        }
        for other in ["", "x", "Id,Total\n", "Id,Total\n1\n", "nonsense\nnonsense\n", "1\n1\n"] {
            assert!(!is_csv(other.as_bytes()), "{other:?}");
        }
        for json in ["{\"a\":1,\"b\":2}\n{\"a\":1,\"b\":2}\n", "\u{feff} { \"a\": 1 }", "{}"] {
            assert!(is_json_object(json.as_bytes()) && !is_csv(json.as_bytes()), "{json:?}");
        }
        assert!(!is_json_object(b"{Id},x\n"));
    }
}
