//! Long work on many rows lets whoever waits for its core go first, now and then: it keeps a thread
//! busy for a tick of the scheduler and more, and requests that come meanwhile would wait for its
//! end.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Rows that are gone through at a stretch: some 100 us.
const ROWS_AT_A_STRETCH: u32 = 8;
/// A request is done with a core within this time. Whoever keeps it for longer works as long as we
/// do: to let it go first each time would be to stand still beside it.
const A_REQUEST_MAX: Duration = Duration::from_millis(1);
/// How long a core that was not given back in time is kept then; each time in a row twice as long,
/// up to so long.
const KEPT_FOR: Duration = Duration::from_millis(10);
const KEPT_FOR_MAX: Duration = Duration::from_millis(160);

/// How a thread has fared.
#[derive(Clone, Copy)]
struct Fared {
    rows: u32,
    keeps_until: Option<Instant>,
    keeps_for: Duration,
}

thread_local! {
    static FARED: Cell<Fared> = const { Cell::new(Fared {
        rows: 0, keeps_until: None, keeps_for: KEPT_FOR
    }) };
}

/// To be called for each of many rows, or lines.
pub fn let_others_go() {
    let mut fared = FARED.get();
    fared.rows += 1;
    if fared.rows >= ROWS_AT_A_STRETCH {
        fared.rows = 0;
        let lets_go = Instant::now();
        if fared.keeps_until.is_none_or(|until| until <= lets_go) {
            std::thread::yield_now();
            let back = Instant::now();
            if back.duration_since(lets_go) > A_REQUEST_MAX {
                fared.keeps_until = Some(back + fared.keeps_for);
                fared.keeps_for = (fared.keeps_for * 2).min(KEPT_FOR_MAX);
            } else {
                (fared.keeps_until, fared.keeps_for) = (None, KEPT_FOR);
            }
        }
    }
    FARED.set(fared);
}
