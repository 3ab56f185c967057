//! Long work on many rows lets whoever waits for its core go first, now and then: it keeps a thread
//! busy for a tick of the scheduler and more, and requests that come meanwhile would wait for its
//! end.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a thread works at a stretch.
const STRETCH: Duration = Duration::from_micros(100);
/// A request is done with a core within this time. Whoever keeps it for longer works as long as we
/// do: to let it go first each time would be to stand still beside it.
const A_REQUEST_MAX: Duration = Duration::from_millis(2);
/// How long a core that was not given back in time is kept then; each time in a row twice as long,
/// up to so long.
const KEPT_FOR: Duration = Duration::from_millis(10);
const KEPT_FOR_MAX: Duration = Duration::from_millis(160);

/// How a thread has fared.
#[derive(Clone, Copy)]
struct YieldState {
    /// When it last had its core back.
    works_since: Option<Instant>,
    keeps_until: Option<Instant>,
    keeps_for: Duration,
}

impl YieldState {
    /// Whether it has worked for long enough to let others go.
    fn is_to_let_go(self, now: Instant) -> bool {
        let has_worked = |since| now.duration_since(since) >= STRETCH;
        self.works_since.is_none_or(has_worked) && self.keeps_until.is_none_or(|until| until <= now)
    }

    /// When the core was given back.
    fn back(self, lets_go: Instant, back: Instant) -> YieldState {
        let works_since = Some(back);
        if back.duration_since(lets_go) <= A_REQUEST_MAX {
            return YieldState { works_since, keeps_until: None, keeps_for: KEPT_FOR };
        }
        let keeps_until = Some(back + self.keeps_for);
        let keeps_for = (self.keeps_for * 2).min(KEPT_FOR_MAX);
        YieldState { works_since, keeps_until, keeps_for }
    }
}

thread_local! {
    static FARED: Cell<YieldState> = const { Cell::new(YieldState {
        works_since: None, keeps_until: None, keeps_for: KEPT_FOR
    }) };
}

/// To be called for each of many rows, or lines.
pub fn yield_if_due() {
    let (fared, now) = (FARED.get(), Instant::now());
    if fared.is_to_let_go(now) {
        std::thread::yield_now();
        FARED.set(fared.back(now, Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fared(keeps_for: Duration) -> YieldState {
        YieldState { works_since: None, keeps_until: None, keeps_for }
    }

    /// A core that came back late is kept, each time for longer; one that came back in time is let
    /// go again at the next turn.
    #[test]
    fn who_gets_its_core_back_late_keeps_it_for_longer() {
        let lets_go = Instant::now();
        let late = lets_go + A_REQUEST_MAX * 3;
        let mut keeps_for = KEPT_FOR;
        for _ in 0..9 {
            let now = fared(keeps_for).back(lets_go, late);
            assert_eq!(now.keeps_until, Some(late + keeps_for));
            assert!(!now.is_to_let_go(late + STRETCH), "keeps its core");
            assert!(now.is_to_let_go(late + keeps_for));
            assert!(now.keeps_for == keeps_for * 2 || now.keeps_for == KEPT_FOR_MAX);
            keeps_for = now.keeps_for;
        }
        assert_eq!(keeps_for, KEPT_FOR_MAX);
        let back = lets_go + A_REQUEST_MAX / 2;
        let soon = fared(keeps_for).back(lets_go, back);
        assert_eq!((soon.keeps_until, soon.keeps_for), (None, KEPT_FOR));
        assert!(!soon.is_to_let_go(back + STRETCH / 2), "works at a stretch");
        assert!(soon.is_to_let_go(back + STRETCH));
    }
}
