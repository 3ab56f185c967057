//! Reads typed fields from a body and its query, collecting every violation, so that a caller
//! learns of all of them at once.

use kiosque_model::refusal::Fault;
use kiosque_model::{PageRequest, Refusal, UnixMs, Violation, Zone};

use crate::json::{Fields, Json};
use crate::query;

/// A request's fields while they are being read.
#[derive(Debug)]
pub struct Form {
    fields: Fields,
    violations: Vec<Violation>,
}

impl Form {
    /// A form with the fields of a body.
    #[must_use]
    pub fn new(fields: Fields) -> Form {
        Form { fields, violations: Vec::new() }
    }

    /// The page that the query string asks for.
    pub fn page(&mut self, query: &str, size_max: i64) -> Option<PageRequest> {
        match query::page_of(query, size_max) {
            Ok(page) => Some(page),
            Err(violations) => {
                self.violations.extend(violations);
                None
            }
        }
    }

    /// A string that must be there and not blank.
    pub fn required_text(&mut self, field: &'static str) -> Option<String> {
        match self.take(field) {
            Json::Text(text) if !text.trim().is_empty() => Some(text),
            Json::Text(_) | Json::Null => self.violates(field, Fault::Blank),
            _ => self.violates(field, Fault::NotText),
        }
    }

    /// A string that may be left out, null or empty.
    pub fn text(&mut self, field: &'static str) -> Option<String> {
        match self.take(field) {
            Json::Text(text) => Some(text).filter(|text| !text.is_empty()),
            Json::Null => None,
            _ => self.violates(field, Fault::NotText),
        }
    }

    /// A truth value that may be left out or null.
    pub fn flag(&mut self, field: &'static str) -> Option<bool> {
        match self.take(field) {
            Json::Flag(flag) => Some(flag),
            value if value.is_left_out() => None,
            _ => self.violates(field, Fault::NotFlag),
        }
    }

    /// 0 or 1, or left out or null.
    pub fn zero_or_one(&mut self, field: &'static str) -> Option<i64> {
        match self.take(field) {
            Json::Int(int @ 0..=1) => Some(int),
            value if value.is_left_out() => None,
            _ => self.violates(field, Fault::NotZeroOrOne),
        }
    }

    /// Reads a span of times, either end of which may be absent. A start after the end is a
    /// violation (ORD-6, DASH-5).
    pub fn span(
        &mut self,
        start: &'static str,
        end: &'static str,
    ) -> (Option<UnixMs>, Option<UnixMs>) {
        let (from, until) = (self.timestamp(start), self.timestamp(end));
        if let (Some(from), Some(until)) = (from, until)
            && from > until
        {
            self.violates::<()>(start, Fault::AfterEnd);
        }
        (from, until)
    }

    /// The range of a dashboard: from the first day of this month, midnight, until now, unless told
    /// otherwise; an end that is told alone and lies before this month has its own month before it.
    pub fn range(&mut self, zone: &Zone, now: UnixMs, days_max: i64) -> (UnixMs, UnixMs) {
        let field = "startTimestamp";
        let wrong_before = self.violations.len();
        let (start, end) = self.span(field, "endTimestamp");
        let until = end.unwrap_or(now);
        let from = start.unwrap_or_else(|| {
            let this_month = zone.start_of_month(now);
            let earlier = || zone.start_of_month(until.plus_ms(-1)).min(until);
            if until < this_month { earlier() } else { this_month }
        });
        // An end that cannot be read is no reason to say that the start is wrong.
        if self.violations.len() > wrong_before {
            return (from, until);
        }
        if from > until {
            self.violates::<()>(field, Fault::AfterEnd);
        }
        if is_longer((from, until), zone, days_max) {
            self.violates::<()>(field, Fault::RangeTooLong(days_max));
        }
        (from, until)
    }

    /// A list of strings, at most so many; empty when left out.
    pub fn texts(&mut self, field: &'static str, most: usize) -> Vec<String> {
        match self.take(field) {
            Json::Texts(texts) if texts.len() <= most => texts,
            Json::Texts(_) => self.violates(field, Fault::TooMany(most)).unwrap_or_default(),
            value if value.is_left_out() => Vec::new(),
            _ => self.violates(field, Fault::NotTexts).unwrap_or_default(),
        }
    }

    fn timestamp(&mut self, field: &'static str) -> Option<UnixMs> {
        match self.take(field) {
            Json::Int(ms) => Some(UnixMs(ms)),
            value if value.is_left_out() => None,
            _ => self.violates(field, Fault::NotInteger),
        }
    }

    /// Notes what is wrong with a field.
    pub fn violates<T>(&mut self, field: &'static str, fault: Fault) -> Option<T> {
        self.violations.push(Violation { field, fault });
        None
    }

    /// Whether nothing was wrong so far.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }

    /// What was read, unless something was wrong.
    ///
    /// # Errors
    /// Every violation at once.
    pub fn finish<T>(self, read: Option<T>) -> Result<T, Refusal> {
        match read {
            Some(read) if self.violations.is_empty() => Ok(read),
            _ => Err(Refusal::Invalid(self.violations)),
        }
    }

    fn take(&mut self, field: &'static str) -> Json {
        let found = self.fields.0.iter_mut().find(|(name, _)| name == field);
        found.map_or(Json::Null, |(_, value)| std::mem::replace(value, Json::Null))
    }
}

/// Whether a range is longer than so many days, by the clock and by the calendar: days of the zone
/// may have 25 hours, and a range of 24 hours may begin in the middle of one.
fn is_longer((from, until): (UnixMs, UnixMs), zone: &Zone, days: i64) -> bool {
    const DAY_MS: i64 = 86_400_000;
    let touched = || zone.day_of(until.plus_ms(-1)).0 - zone.day_of(from).0 + 1;
    until.0.saturating_sub(from.0) > days.saturating_mul(DAY_MS) && touched() > days
}
