//! Paging.

/// A valid request for a page: number and size are positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    current: i64,
    size: i64,
}

impl PageRequest {
    /// Default page size (PAGE-1).
    pub const SIZE_DEFAULT: i64 = 10;

    /// Returns the request for page `current`, counted from 1, of `size` rows; `None` if either is
    /// not positive.
    pub const fn new(current: i64, size: i64) -> Option<PageRequest> {
        if current >= 1 && size >= 1 { Some(PageRequest { current, size }) } else { None }
    }

    /// Returns the page number, from 1.
    pub const fn current(self) -> i64 {
        self.current
    }

    /// Returns the maximum number of rows of the page.
    pub const fn size(self) -> i64 {
        self.size
    }

    /// Returns the number of rows before the page, capped at 2^53 so that statements can add to it;
    /// no device has as many orders.
    pub const fn skip(self) -> i64 {
        const FAR: i64 = 1 << 53;
        let skip = (self.current - 1).saturating_mul(self.size);
        if skip > FAR { FAR } else { skip }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_numbers_stay_past_the_end() {
        let far = PageRequest::new(i64::MAX, i64::MAX).expect("positive");
        assert_eq!(far.skip(), 1 << 53);
        let third = PageRequest::new(3, 10).expect("positive");
        assert_eq!((third.current(), third.size(), third.skip()), (3, 10, 20));
        assert_eq!(PageRequest::new(0, 10), None);
        assert_eq!(PageRequest::new(1, 0), None);
    }
}
