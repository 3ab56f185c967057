//! The figures of the days of a month as bytes, so that a month is one row: of each day with sales
//! its number in the month, counted from 0, and its figures.

use kiosque_model::Day;

use super::varint::{put, take};
use crate::Error;

/// The figures of each day with sales in a month: sums, or differences of sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DaySums<const N: usize>(
    /// By day.
    Vec<(Day, [i64; N])>,
);

impl<const N: usize> Default for DaySums<N> {
    fn default() -> Self {
        DaySums(Vec::new())
    }
}

impl<const N: usize> DaySums<N> {
    /// Adds figures to those of a day.
    pub(crate) fn add(&mut self, day: Day, figures: [i64; N]) {
        // Most figures are of the last day.
        let is_later = self.0.last().is_none_or(|(last, _)| *last < day);
        let found = if is_later {
            Err(self.0.len())
        } else {
            self.0.binary_search_by_key(&day, |(day, _)| *day)
        };
        match found {
            Ok(at) => {
                let sums = self.0.get_mut(at).into_iter().flat_map(|(_, sums)| sums);
                sums.zip(figures).for_each(|(sum, figure)| *sum += figure);
            }
            Err(at) => self.0.insert(at, (day, figures)),
        }
    }

    /// Adds the figures of other days.
    pub(super) fn join(&mut self, other: &DaySums<N>) {
        for (day, figures) in &other.0 {
            self.add(*day, *figures);
        }
    }

    /// Returns the days and their figures.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Day, [i64; N])> {
        self.0.iter()
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.iter().all(|(_, figures)| *figures == [0; N])
    }

    /// Returns the bytes to store. They have no day whose figures are all zero.
    pub(crate) fn bytes(&self, month: Day) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * (N + 3));
        for (day, figures) in self.0.iter().filter(|(_, figures)| *figures != [0; N]) {
            put(&mut bytes, day.0 - month.0);
            figures.iter().for_each(|figure| put(&mut bytes, *figure));
        }
        bytes
    }

    /// Reads stored bytes about the month that begins with `month`.
    pub(super) fn parse(bytes: &[u8], month: Day) -> Result<DaySums<N>, Error> {
        let mut sums = DaySums::default();
        each_day(bytes, month, |day, figures| {
            sums.add(day, figures);
            Ok(())
        })?;
        Ok(sums)
    }
}

/// Visits the figures of each day in stored bytes about the month that begins with `month`.
pub(crate) fn each_day<const N: usize>(
    bytes: &[u8],
    month: Day,
    mut visit: impl FnMut(Day, [i64; N]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let (number, figures) = read_day(&mut rest).ok_or_else(|| unreadable::<N>(bytes))?;
        visit(Day(month.0 + number), figures)?;
    }
    Ok(())
}

fn read_day<const N: usize>(rest: &mut &[u8]) -> Option<(i64, [i64; N])> {
    let number = take(rest).filter(|number| (0..31).contains(number))?;
    let mut figures = [0; N];
    for figure in &mut figures {
        *figure = take(rest)?;
    }
    Some((number, figures))
}

fn unreadable<const N: usize>(bytes: &[u8]) -> Error {
    Error::Data(format!(
        "the sums {bytes:02x?} are not a day and {N} figures for each day of a month"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_they_were_written() {
        let month = Day(31);
        let mut sums = DaySums::default();
        for (day, figures) in
            [(33, [2, 900]), (31, [1, i64::MIN]), (33, [-1, 50]), (61, [0, i64::MAX]), (40, [3, 4])]
        {
            sums.add(Day(day), figures);
        }
        sums.add(Day(40), [-3, -4]);
        assert!(!sums.is_zero());
        let read = DaySums::parse(&sums.bytes(month), month).expect("sums");
        let days = vec![(Day(31), [1, i64::MIN]), (Day(33), [1, 950]), (Day(61), [0, i64::MAX])];
        assert_eq!(read, DaySums(days));
        let mut joined = DaySums::<2>::default();
        joined.add(Day(33), [1, -1]);
        joined.join(&DaySums(vec![(Day(33), [1, 2]), (Day(34), [5, 6])]));
        assert_eq!(joined, DaySums(vec![(Day(33), [2, 1]), (Day(34), [5, 6])]));
        assert!(DaySums(vec![(Day(33), [0])]).is_zero());
        assert_eq!(DaySums(vec![(Day(33), [0])]).bytes(month), [0_u8; 0]);
    }

    #[test]
    fn bytes_of_another_form_are_an_error() {
        for bytes in [&[0][..], &[0, 2], &[62, 2, 2], &[1, 2, 2], &[0, 2, 2, 4], &[0, 2, 0x80]] {
            let error = DaySums::<2>::parse(bytes, Day(0)).expect_err("no sums");
            assert!(error.to_string().contains(&format!("{bytes:02x?} are not a day")), "{error}");
        }
    }
}
