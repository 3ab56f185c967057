//! Long work on many rows lets whoever waits for its core go first, now and then: it keeps a thread
//! busy for a tick of the scheduler and more, and requests that come meanwhile would wait for its
//! end.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Rows that are gone through at a stretch: some 100 us at most, by the rate of an import.
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

impl Fared {
    /// When the core was given back.
    fn back(self, lets_go: Instant, back: Instant) -> Fared {
        if back.duration_since(lets_go) <= A_REQUEST_MAX {
            return Fared { keeps_until: None, keeps_for: KEPT_FOR, ..self };
        }
        let keeps_until = Some(back + self.keeps_for);
        Fared { keeps_until, keeps_for: (self.keeps_for * 2).min(KEPT_FOR_MAX), ..self }
    }
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
            fared = fared.back(lets_go, Instant::now());
        }
    }
    FARED.set(fared);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fared(rows: u32, keeps_until: Option<Instant>, keeps_for: Duration) -> Fared {
        Fared { rows, keeps_until, keeps_for }
    }

    /// A core that came back late is kept, each time for longer; one that came back in time is let
    /// go again at the next turn.
    #[test]
    fn who_gets_its_core_back_late_keeps_it_for_longer() {
        let lets_go = Instant::now();
        let late = lets_go + A_REQUEST_MAX * 3;
        let mut keeps_for = KEPT_FOR;
        for _ in 0..9 {
            let now = fared(0, None, keeps_for).back(lets_go, late);
            assert_eq!(now.keeps_until, Some(late + keeps_for));
            assert!(now.keeps_for == keeps_for * 2 || now.keeps_for == KEPT_FOR_MAX);
            keeps_for = now.keeps_for;
        }
        assert_eq!(keeps_for, KEPT_FOR_MAX);
        let soon = fared(0, None, keeps_for).back(lets_go, lets_go + A_REQUEST_MAX / 2);
        assert_eq!((soon.keeps_until, soon.keeps_for), (None, KEPT_FOR));
    }
}
