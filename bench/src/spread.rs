//! The median of a few rounds, and their spread.

use serde::Serialize;

/// Median, minimum and maximum of some figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    /// Half of the figures are at most this.
    pub(crate) median: f64,
    /// The smallest.
    pub(crate) min: f64,
    /// The largest.
    pub(crate) max: f64,
}

impl Spread {
    /// Returns the spread of `figures`; all 0 without any.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Spread {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
        let last = sorted.len().saturating_sub(1);
        Spread {
            median: f64::midpoint(at(last / 2), at(last.div_ceil(2))),
            min: at(0),
            max: at(last),
        }
    }

    /// Returns the median with its unit, and the minimum and maximum in brackets.
    pub(crate) fn shown(&self, digits: usize, unit: &str) -> String {
        let Spread { median, min, max } = self;
        format!("{median:.digits$}{unit} ({min:.digits$}–{max:.digits$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of([4.0, 1.0]), Spread { median: 2.5, min: 1.0, max: 4.0 });
        assert_eq!(Spread::of([]), Spread { median: 0.0, min: 0.0, max: 0.0 });
    }
}
