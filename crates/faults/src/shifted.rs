//! The lists that `shift-page` has shifted when it only selects some calls.
//!
//! Orders that have arrived do not leave. Each list therefore remains shifted until its page 1 is
//! read again, as the beginning of another walk; otherwise some orders would be on no page
//! (PAGE-8). Two simultaneous walks of one account over one list look like one: the page 1 of one
//! ends the shift of the other.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::rows::PageAsked;

/// Maximum number of lists that are kept; the first ones shifted are forgotten first.
const LISTS_MAX: usize = 1_024;

/// An account and its selected group, which a login or switching back does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reader {
    pub(crate) account: u64,
    pub(crate) group: u64,
}

/// The page that a call requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListPage {
    /// A hash of everything that selects the list, except its reader.
    pub(crate) list: u64,
    pub(crate) page: PageAsked,
}

/// Hashes of the shifted lists and their readers, each with the number of rows that have arrived.
#[derive(Default)]
pub(crate) struct Shifted(VecDeque<(u64, usize)>);

impl Shifted {
    /// Returns by how many rows a page is shifted, after `arrived` more; at most by a page, whose
    /// rows are all that precede page 2.
    pub(crate) fn rows(
        &mut self,
        reader: Option<Reader>,
        asked: ListPage,
        arrived: usize,
    ) -> usize {
        let list = hash((reader, asked.list));
        let PageAsked { current, size } = asked.page;
        let known = self.0.iter().position(|(other, _)| *other == list);
        if current == 1 {
            known.and_then(|index| self.0.remove(index));
            return 0;
        }
        if let Some((_, rows)) = known.and_then(|index| self.0.get_mut(index)) {
            *rows = rows.saturating_add(arrived).min(size);
            return *rows;
        }
        let rows = arrived.min(size);
        if rows > 0 {
            if self.0.len() >= LISTS_MAX {
                self.0.pop_front();
            }
            self.0.push_back((list, rows));
        }
        rows
    }
}

/// Returns a number for a value, the same in each run.
pub(crate) fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(list: u64, current: usize) -> ListPage {
        ListPage { list, page: PageAsked { current, size: 5 } }
    }

    /// PAGE-8: rows arrive and do not leave before page 1 is read; other lists and readers have
    /// none of them.
    #[test]
    fn a_list_stays_shifted_until_its_first_page_is_read() {
        let mut shifted = Shifted::default();
        let north = Some(Reader { account: 1, group: 1 });
        let south = Some(Reader { account: 1, group: 2 });
        let calls =
            [(1, 3), (2, 0), (2, 3), (3, 0), (2, 0), (4, 1), (5, 3), (9, 0), (1, 0), (2, 0)];
        let rows = calls.map(|(current, arrived)| shifted.rows(north, page(7, current), arrived));
        assert_eq!(rows, [0, 0, 3, 3, 3, 4, 5, 5, 0, 0]);
        assert_eq!(shifted.rows(north, page(7, 2), 2), 2);
        assert_eq!(shifted.rows(north, page(8, 3), 0), 0);
        assert_eq!(shifted.rows(south, page(7, 1), 0), 0);
        assert_eq!(shifted.rows(south, page(7, 3), 0), 0);
        assert_eq!(shifted.rows(north, page(7, 3), 0), 2);
    }

    #[test]
    fn the_lists_that_were_shifted_first_are_forgotten() {
        let mut shifted = Shifted::default();
        for list in 0..=1_024 {
            assert_eq!(shifted.rows(None, page(list, 2), 1), 1);
        }
        assert_eq!(shifted.0.len(), LISTS_MAX);
        assert_eq!(shifted.rows(None, page(0, 3), 0), 0);
        assert_eq!(shifted.rows(None, page(1, 3), 0), 1);
    }
}
