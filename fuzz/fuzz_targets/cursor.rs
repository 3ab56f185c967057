//! A parsed cursor is a position: written and parsed again, it is the same one. Cursors of the
//! change feed have one spelling.
#![no_main]

use kiosque_model::ChangeCursor;
use kiosque_server::fuzzing::rewritten_cursors;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(cursor) = ChangeCursor::read(text) {
        assert_eq!(cursor.write(), text);
        assert!((0..=cursor.last_change_no).contains(&cursor.change_no));
    }
    for cursor in rewritten_cursors(text) {
        let again = rewritten_cursors(&cursor);
        assert!(again.contains(&cursor), "{cursor}: {again:?}");
    }
});
