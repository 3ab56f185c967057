//! Parts of lists, which are sorted by a key: one part continues after the last entry of another.

use crate::db::Read;
use crate::error::Error;
use crate::sql::{FromRow, Sql, Value, has_no_nul};

/// Selects a part of a list, which is sorted by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing<K = String> {
    /// Only entries after this key, in the order of the list; `None` starts at the first.
    pub after: Option<K>,
    /// The largest number of entries.
    pub limit: usize,
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<T, K = String> {
    /// The entries.
    pub entries: Vec<T>,
    /// `after` of the next part; `None` in the last one.
    pub next: Option<K>,
}

impl<K> Listing<K> {
    /// Returns the number of rows to read: one more than the part has, to see whether it is the
    /// last one.
    pub(crate) fn count(&self) -> i64 {
        i64::try_from(self.limit).unwrap_or(i64::MAX - 1) + 1
    }

    /// Truncates the rows to the part.
    pub(crate) fn cut<T>(&self, mut entries: Vec<T>, key: impl Fn(&T) -> K) -> Listed<T, K> {
        let is_last = entries.len() <= self.limit;
        entries.truncate(self.limit);
        let next = entries.last().filter(|_| !is_last).map(key);
        Listed { entries, next }
    }
}

impl Listing {
    /// Reads the part with a statement that has `params`, and the parameters `after` and `count`.
    pub(crate) async fn read<T: for<'r> FromRow<'r>>(
        &self,
        read: &Read<'_>,
        sql: &'static Sql,
        params: &[Value<'_>],
        key: impl Fn(&T) -> &str,
    ) -> Result<Listed<T>, Error> {
        let after = self.after.as_deref().unwrap_or_default();
        let params = [params, &[after.into(), self.count().into()]].concat();
        let rows = match has_no_nul(after) {
            true => read.all(sql, &params).await?,
            false => Vec::new(),
        };
        Ok(self.cut(rows, |row| key(row).to_owned()))
    }
}

impl<T, K> Listed<T, K> {
    /// Returns the part with each entry converted.
    pub(crate) fn map<U>(self, convert: impl FnMut(T) -> U) -> Listed<U, K> {
        Listed { entries: self.entries.into_iter().map(convert).collect(), next: self.next }
    }
}
