//! The number of orders of a transaction.

use std::time::Duration;

/// The size of the first batch.
pub(crate) const BATCH_START: usize = 64;
const BATCH_MIN: usize = 8;
const BATCH_MAX: usize = 4_096;
/// One for each power of two up to the largest batch.
const CLASSES: usize = BATCH_MAX.ilog2() as usize + 1;

/// How long a transaction should take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransactionTime {
    /// The target duration.
    pub(crate) target: Duration,
    /// The maximum duration, if a shorter one stores fewer orders per second.
    pub(crate) longest: Duration,
}

/// Orders stored per second, by the size of the batch.
///
/// A transaction on a cluster takes so long before its first order that none is as short as the
/// target. Smaller batches would then only store fewer orders per second.
#[derive(Debug, Default)]
pub(crate) struct Throughput {
    /// A moving average for each power of two; 0 without such a batch.
    rates: [u64; CLASSES],
}

impl Throughput {
    /// Returns the size of the next batch after one of `orders` that took `took`, when `size` was
    /// the full size.
    pub(crate) fn next_size(
        &mut self,
        size: usize,
        (orders, took): (usize, Duration),
        time: TransactionTime,
    ) -> usize {
        self.record(orders, took);
        if took > time.longest {
            return next_size(size, took, time.longest);
        }
        if orders < size {
            return size;
        }
        if took <= time.target {
            return next_size(size, took, time.target);
        }
        let class = class_of(size);
        let here = self.rate(class);
        let smaller = class.checked_sub(1).map_or(0, |class| self.rate(class));
        let larger = self.rate(class + 1);
        if larger * 10 > here * 11 {
            (size * 2).min(BATCH_MAX)
        } else if smaller == 0 || smaller * 10 >= here * 9 {
            next_size(size, took, time.target)
        } else if larger == 0 {
            (size * 2).min(BATCH_MAX)
        } else {
            size
        }
    }

    fn record(&mut self, orders: usize, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        let new = u64::try_from(orders).unwrap_or(u64::MAX).saturating_mul(1_000_000) / micros;
        if let Some(rate) = self.rates.get_mut(class_of(orders)) {
            *rate = if *rate == 0 { new } else { (*rate * 3).saturating_add(new) / 4 };
        }
    }

    fn rate(&self, class: usize) -> u64 {
        self.rates.get(class).copied().unwrap_or_default()
    }
}

fn class_of(orders: usize) -> usize {
    orders.max(1).ilog2() as usize
}

/// Returns the size of a batch that takes about `target`, given the duration of the last one. The
/// size changes by at most half.
fn next_size(size: usize, took: Duration, target: Duration) -> usize {
    let took = took.as_micros().max(1);
    let fitting =
        u128::try_from(size).unwrap_or(u128::MAX).saturating_mul(target.as_micros()) / took;
    let fitting = usize::try_from(fitting).unwrap_or(BATCH_MAX);
    fitting.clamp(size / 2, size + size / 2).clamp(BATCH_MIN, BATCH_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: TransactionTime =
        TransactionTime { target: Duration::from_millis(40), longest: Duration::from_millis(250) };

    /// Returns the size after 200 full batches that each take `fixed` and `per_order`.
    fn settled(fixed: Duration, per_order: Duration, time: TransactionTime) -> usize {
        let (mut size, mut throughput) = (BATCH_START, Throughput::default());
        for _ in 0..200 {
            let took = fixed + per_order * u32::try_from(size).expect("a small size");
            size = throughput.next_size(size, (size, took), time);
        }
        size
    }

    #[test]
    fn batches_grow_while_more_orders_are_stored_per_second() {
        let (fixed, per_order) = (Duration::from_millis(60), Duration::from_micros(300));
        let size = settled(fixed, per_order, TIME);
        assert!((500..=700).contains(&size), "{size} orders take about the longest time");
        let halved = settled(fixed, per_order, TransactionTime { longest: TIME.target, ..TIME });
        assert_eq!(halved, BATCH_MIN, "without a longer time they shrink");
    }

    #[test]
    fn batches_take_the_target_where_a_smaller_one_stores_as_many() {
        let size = settled(Duration::from_millis(1), Duration::from_micros(100), TIME);
        assert!((350..=400).contains(&size), "{size}");
    }

    #[test]
    fn a_small_batch_does_not_change_the_size() {
        let mut throughput = Throughput::default();
        let small = (3, Duration::from_millis(90));
        assert_eq!(throughput.next_size(64, small, TIME), 64);
    }
}
