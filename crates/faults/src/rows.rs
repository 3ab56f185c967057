//! Alterations of the lists in answers.

use serde_json::Value;

use crate::calls::Call;

/// The places of fields in an envelope.
const RECORDS: &str = "/data/records";
pub(crate) const TOTAL: &str = "/data/total";
pub(crate) const EXPIRES_IN: &str = "/data/expiresIn";

/// An envelope with `code` 200.
pub(crate) struct Success(Value);

impl Success {
    /// Parses an envelope; `None` if it is not a success.
    pub(crate) fn parse(json: &[u8]) -> Option<Success> {
        let envelope: Value = serde_json::from_slice(json).ok()?;
        (envelope.get("code")? == 200).then_some(Success(envelope))
    }

    /// Returns the JSON of the envelope.
    pub(crate) fn json(&self) -> String {
        self.0.to_string()
    }

    /// Returns the token of a login or a switch.
    pub(crate) fn token(&self) -> Option<&str> {
        self.0.pointer("/data/accessToken")?.as_str()
    }

    /// Returns the group selected by a login or a switch.
    pub(crate) fn group(&self) -> Option<&str> {
        self.0.pointer("/data/groupId")?.as_str()
    }

    /// Changes a number of the data. This and all other alterations return whether the answer has
    /// the field that they change.
    pub(crate) fn alter(&mut self, field: &str, alter: impl FnOnce(i64) -> i64) -> bool {
        let Some(number) = self.0.pointer_mut(field) else { return false };
        let Some(given) = number.as_i64() else { return false };
        *number = alter(given).into();
        true
    }

    /// Reverses the rows.
    pub(crate) fn reverse(&mut self, call: Call) -> bool {
        let rows = self.rows(call).filter(|rows| rows.len() > 1);
        rows.map(|rows| rows.reverse()).is_some()
    }

    /// Removes a row, chosen by a random number.
    pub(crate) fn drop_row(&mut self, call: Call, draw: u64) -> bool {
        let Some(rows) = self.rows(call).filter(|rows| !rows.is_empty()) else { return false };
        let index = usize::try_from(draw % rows.len() as u64).unwrap_or_default();
        rows.remove(index);
        true
    }

    /// Begins this page with the last rows of the previous one, and moves as many of its own to the
    /// next page.
    pub(crate) fn shift(&mut self, before: &Success, rows: usize, size: usize) -> bool {
        let earlier = before.records();
        let moved = &earlier[earlier.len().saturating_sub(rows)..];
        !moved.is_empty() && self.begin_with(moved, moved.len(), size)
    }

    /// Makes this a page of the list after a number of rows, at most a page, have arrived at its
    /// front. All later pages have the same `total`, including those past the end.
    pub(crate) fn stay_shifted(&mut self, before: &Success, rows: usize, size: usize) -> bool {
        let earlier = before.records();
        let kept = size.saturating_sub(rows).min(earlier.len());
        self.begin_with(&earlier[kept..], rows, size)
    }

    /// Puts rows before this page's own.
    fn begin_with(&mut self, moved: &[Value], arrived: usize, size: usize) -> bool {
        let own = self.0.pointer_mut(RECORDS).and_then(Value::as_array_mut);
        let Some(own) = own else { return false };
        own.splice(0..0, moved.iter().cloned());
        own.truncate(size);
        let arrived = i64::try_from(arrived).unwrap_or_default();
        self.alter(TOTAL, |total| total.saturating_add(arrived))
    }

    /// Returns the rows of a page.
    fn records(&self) -> &[Value] {
        let records = self.0.pointer(RECORDS).and_then(Value::as_array);
        records.map_or(&[], Vec::as_slice)
    }

    fn rows(&mut self, call: Call) -> Option<&mut Vec<Value>> {
        self.0.get_mut("data")?.pointer_mut(call.rows?)?.as_array_mut()
    }
}

/// The page that a query string requests (PAGE-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageAsked {
    pub(crate) current: usize,
    pub(crate) size: usize,
}

impl PageAsked {
    /// Returns the page; `None` if the query string is invalid.
    pub(crate) fn of(query: Option<&str>) -> Option<PageAsked> {
        let mut page = PageAsked { current: 1, size: 10 };
        for pair in query.unwrap_or_default().split('&') {
            match pair.split_once('=') {
                Some(("current", value)) => page.current = value.parse().ok()?,
                Some(("size", value)) => page.size = value.parse().ok()?,
                _ => {}
            }
        }
        (page.current > 0 && page.size > 0).then_some(page)
    }
}

#[cfg(test)]
mod tests {
    use kiosque_contract::Endpoint;
    use kiosque_contract::endpoint::{OnlineDevices, QueryOrderList, SalesTrend};
    use serde_json::json;

    use super::*;
    use crate::calls::call_at;

    fn page(total: i64, records: &[i64]) -> Success {
        let data = json!({"total": total, "current": 2, "size": 3, "records": records});
        Success::parse(json!({"code": 200, "data": data}).to_string().as_bytes()).expect("success")
    }

    /// PAGE-8: a walk over shifted pages reads rows twice and misses none.
    #[test]
    fn a_walk_over_shifted_pages_misses_no_row() {
        for (pages, shifted) in [
            (&[&[1, 2, 3][..], &[4, 5, 6], &[7, 8]], &[&[1, 2, 3][..], &[3, 4, 5], &[6, 7, 8]]),
            (&[&[1, 2, 3], &[4, 5, 6], &[]], &[&[1, 2, 3], &[3, 4, 5], &[6]]),
        ] {
            for at in 1..pages.len() {
                let mut altered = page(8, pages[at]);
                assert!(altered.shift(&page(8, pages[at - 1]), 1, 3));
                assert_eq!(altered.0["data"]["records"], json!(shifted[at]));
                assert_eq!(altered.0["data"]["total"], 9);
            }
        }
        assert!(!page(0, &[]).shift(&page(0, &[]), 1, 3), "no row can have arrived before none");
    }

    /// PAGE-6, PAGE-8: the last pages are the ones of a list with more rows.
    #[test]
    fn the_last_pages_of_a_shifted_list_have_its_total() {
        let list = [1, 2, 3, 4, 5, 6, 7, 8];
        for (rows, shifted) in
            [(1, [&[3, 4, 5][..], &[6, 7, 8], &[]]), (2, [&[2, 3, 4], &[5, 6, 7], &[8]])]
        {
            for (current, expected) in (1..).zip(shifted) {
                let at = |number: usize| &list[(number * 3).min(8)..(number * 3 + 3).min(8)];
                let mut altered = page(8, at(current));
                assert!(altered.stay_shifted(&page(8, at(current - 1)), rows, 3));
                assert_eq!(altered.0["data"]["records"], json!(expected));
                assert_eq!(altered.0["data"]["total"], json!(8 + rows));
            }
        }
    }

    #[test]
    fn lists_are_altered_where_each_answer_has_them() {
        for (route, data) in [
            (QueryOrderList::ROUTE, json!({"records": [1, 2]})),
            (OnlineDevices::ROUTE, json!({"list": [1, 2]})),
            (SalesTrend::ROUTE, json!([1, 2])),
        ] {
            let call = call_at(route).expect(route);
            let json = json!({"code": 200, "data": data}).to_string();
            let mut answer = Success::parse(json.as_bytes()).expect("success");
            assert!(answer.reverse(call));
            assert!(answer.json().contains("[2,1]"), "{}", answer.json());
            assert!(answer.drop_row(call, 3));
            assert!(answer.json().contains("[2]"), "{}", answer.json());
            assert!(!answer.reverse(call) && answer.drop_row(call, 0) && !answer.drop_row(call, 0));
        }
        assert!(Success::parse(br#"{"code":-1,"data":[1]}"#).is_none());
    }

    #[test]
    fn a_query_string_names_a_page() {
        let page = |current, size| Some(PageAsked { current, size });
        assert_eq!(PageAsked::of(None), page(1, 10));
        assert_eq!(PageAsked::of(Some("size=3&x=1&current=2")), page(2, 3));
        assert_eq!(PageAsked::of(Some("current=0")), None);
        assert_eq!(PageAsked::of(Some("current=x")), None);
    }
}
