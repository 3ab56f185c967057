//! The bytes of an HTTP/2 caller: what is counted does not depend on the pieces in which they
//! arrive, and equals the count of a reader that has all of them.
#![no_main]

use std::num::NonZero;

use kiosque_server::fuzzing::stream_window_after;
use libfuzzer_sys::fuzz_target;

const PREFACE_BYTES: usize = 24;
const SETTINGS: u8 = 4;
const CONTROL_FRAMES_MAX: usize = 10_000;

fuzz_target!(|input: (u8, &[u8])| {
    let (size, bytes) = input;
    let size = NonZero::<usize>::MIN.saturating_add(size.into());
    let in_pieces = stream_window_after(bytes, size);
    let whole = NonZero::new(bytes.len()).unwrap_or(NonZero::<usize>::MIN);
    assert_eq!(in_pieces, stream_window_after(bytes, whole), "pieces of {size}");
    // Fewer frames than the limit are no reason to end the connection.
    if bytes.len() / 9 < CONTROL_FRAMES_MAX {
        assert_eq!(in_pieces, Some(window_of(bytes.get(PREFACE_BYTES..).unwrap_or_default())));
    }
});

/// Returns the initial window that the last of these settings frames set.
fn window_of(mut bytes: &[u8]) -> u32 {
    let mut window = 65_535;
    while let [a, b, c, kind, _, _, _, _, _, rest @ ..] = bytes {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let content = rest.get(..length).unwrap_or(rest);
        if *kind == SETTINGS && length.is_multiple_of(6) {
            for setting in content.chunks_exact(6) {
                if setting.starts_with(&[0, 4]) {
                    window = u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]]);
                }
            }
        }
        bytes = rest.get(length..).unwrap_or_default();
    }
    window
}
