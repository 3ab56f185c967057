//! The days that a page covers: the last days up to today, or any days of the calendar.

use kiosque_model::Day;
use maud::{Markup, html};

use crate::components::{address, parameter, text_field};
use crate::frame::Frame;
use crate::groups::Groups;
use crate::text::{Text, texts};
use crate::words::{FROM, SEVEN_DAYS, TO, TODAY};

texts! {
    RANGE: "Range", "时间范围";
    YESTERDAY: "Yesterday", "昨天";
    FOUR_WEEKS: "4 weeks", "4 周";
    QUARTER: "13 weeks", "13 周";
    YEAR: "52 weeks", "52 周";
    OTHER: "Other days", "其他日期";
    APPLY: "Apply", "应用";
    LAST_DAYS: "last {0} days, {1}", "最近 {0} 天，{1}";
    ONE_DAY: "{0}, {1}, {2}", "{0}，{1}，{2}";
    BETWEEN: "{0} to {1}, {2}", "{0} 至 {1}，{2}";
}

/// The choices of the picker, values of `days`: single days and whole weeks, so that the previous
/// period has the same weekdays.
const CHOICES: [(&str, Text); 6] = [
    ("1", TODAY),
    (LAST_DAY, YESTERDAY),
    ("7", SEVEN_DAYS),
    ("28", FOUR_WEEKS),
    ("91", QUARTER),
    ("364", YEAR),
];
/// The value of `days` that chooses yesterday.
const LAST_DAY: &str = "yesterday";
/// The default length, in days.
const DAYS_DEFAULT: i64 = 28;
/// The maximum length of a period in days. The previous period has the same length.
pub(crate) const DAYS_MAX: i64 = 3_660;
/// The maximum length of a period that is shown by day, in days.
const BY_DAY_MAX: i64 = 92;
/// The maximum length of a period that is shown by week, in days; longer ones are shown by month.
const BY_WEEK_MAX: i64 = 64 * 7;

/// Consecutive days, and today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    first: Day,
    last: Day,
    today: Day,
}

/// The length of the spans into which a period is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanLength {
    Day,
    Week,
    Month,
}

/// A part of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: Day,
    pub(crate) last: Day,
    /// Whether it has ended, and has the whole length.
    pub(crate) is_complete: bool,
}

impl Period {
    /// The parameters of a query that choose a period: a number of days up to today, or
    /// `yesterday`; or the first and the last day, `yyyy-MM-dd`.
    pub const PARAMETERS: [&'static str; 3] = ["days", "from", "to"];

    /// Returns the period that the values of [`Period::PARAMETERS`] choose: the last four weeks by
    /// default, or up to a last day if there is no first one.
    ///
    /// # Errors
    /// The invalid parameter.
    pub fn of(query: [Option<&str>; 3], today: Day) -> Result<Period, &'static str> {
        match query.into() {
            (None, None, None) => Ok(Period::last_days(DAYS_DEFAULT, today)),
            (Some(LAST_DAY), None, None) => {
                let yesterday = Day(today.0 - 1);
                Ok(Period { first: yesterday, last: yesterday, today })
            }
            (Some(days), None, None) => {
                let days = days.parse::<i64>().ok().filter(|days| (1..=DAYS_MAX).contains(days));
                let days = days.ok_or("days")?;
                Ok(Period::last_days(days, today))
            }
            (Some(_), ..) => Err("days"),
            (None, from, to) => {
                let last = to.map_or(Ok(today), |text| day(text).ok_or("to"))?;
                // Without a first day, it is the longest period that ends there.
                let longest = Day((last.0 + 1 - DAYS_MAX).max(0));
                let first = from.map_or(Ok(longest), |text| day(text).ok_or("from"))?;
                match last.0 - first.0 {
                    0..DAYS_MAX => Ok(Period { first, last, today }),
                    _ => Err("from"),
                }
            }
        }
    }

    fn last_days(days: i64, today: Day) -> Period {
        Period { first: Day(today.0 - days + 1), last: today, today }
    }

    /// Returns the first day.
    pub const fn first(self) -> Day {
        self.first
    }

    /// Returns the last day.
    pub const fn last(self) -> Day {
        self.last
    }

    /// Returns the number of days.
    pub const fn length(self) -> i64 {
        self.last.0 - self.first.0 + 1
    }

    /// Returns the distance in days to the corresponding day of the previous period, which has the
    /// same length; for a single day, it is the same weekday.
    pub(crate) const fn shift(self) -> i64 {
        if self.is_day() { 7 } else { self.length() }
    }

    pub(crate) const fn is_day(self) -> bool {
        self.length() == 1
    }

    /// Returns the first day of the previous period.
    pub const fn first_before(self) -> Day {
        Day(self.first.0 - self.shift())
    }

    /// Returns the last day that has ended; `None` if no day of the period has. Days that have
    /// ended are compared with the previous period, since today has fewer sales than a whole day.
    pub(crate) fn last_ended(self) -> Option<Day> {
        let last = Day(self.last.0.min(self.today.0 - 1));
        (last >= self.first).then_some(last)
    }

    /// Returns the query that chooses it. A period that ends today, or yesterday's, moves on as
    /// days pass.
    pub(crate) fn query(self) -> String {
        match self.days() {
            Some(days) => parameter("days", &days),
            None => format!("from={}&to={}", self.first, self.last),
        }
    }

    /// Returns the value of `days` that chooses it.
    fn days(self) -> Option<String> {
        if self.last == self.today {
            return Some(self.length().to_string());
        }
        (self.is_day() && self.last.next() == self.today).then(|| LAST_DAY.to_owned())
    }

    pub(crate) const fn span_length(self) -> SpanLength {
        match self.length() {
            ..=BY_DAY_MAX => SpanLength::Day,
            length if length <= BY_WEEK_MAX => SpanLength::Week,
            _ => SpanLength::Month,
        }
    }

    /// Returns the spans in which the period is shown. Weeks are counted from the end.
    pub(crate) fn spans(self) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut last = self.last;
        while last >= self.first {
            let whole = match self.span_length() {
                SpanLength::Day => last,
                SpanLength::Week => Day(last.0 - 6),
                SpanLength::Month => last.first_of_month(),
            };
            let end_of_month =
                self.span_length() != SpanLength::Month || last == last.last_of_month();
            let is_complete = last < self.today && whole >= self.first && end_of_month;
            let first = whole.max(self.first);
            spans.push(Span { first, last, is_complete });
            last = Day(first.0 - 1);
        }
        spans.reverse();
        spans
    }

    /// Returns a text for the note next to a heading.
    pub(crate) fn text(self, frame: &Frame<'_>) -> String {
        let (language, zone) = (frame.language, frame.zone.name());
        if self.is_day() {
            let days = self.days();
            let choice = CHOICES.iter().find(|(choice, _)| days.as_deref() == Some(*choice));
            return match choice {
                Some((_, name)) => {
                    ONE_DAY.fill(language, &[frame.say(*name), &self.last.to_string(), zone])
                }
                None => format!("{}, {zone}", self.last),
            };
        }
        if self.last == self.today {
            return LAST_DAYS.fill(language, &[&self.length().to_string(), zone]);
        }
        BETWEEN.fill(language, &[&self.first.to_string(), &self.last.to_string(), zone])
    }
}

/// Parses a day in the range of years that the platform supports.
pub fn day(text: &str) -> Option<Day> {
    let digits = text.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let date = text.parse().ok().filter(|_| digits && text.len() == 10);
    date.map(Day::of).filter(|day| day.0 >= 0)
}

/// Renders the picker, which keeps the chosen group.
pub(crate) fn picker(frame: &Frame<'_>, period: Period, groups: &Groups) -> Markup {
    let path = frame.path();
    let chosen = period.days();
    html! {
        nav.segments aria-label=(frame.say(RANGE)) {
            @for (days, name) in CHOICES {
                @let current = (chosen.as_deref() == Some(days)).then_some("true");
                a href=(address(path, &[&parameter("days", days), &groups.query()]))
                    aria-current=[current] { (frame.say(name)) }
            }
        }
        details.other {
            summary { (frame.say(OTHER)) }
            form.filter method="get" action=(path) {
                @if let Some(group) = &groups.chosen {
                    input type="hidden" name="group" value=(group);
                }
                (text_field("date", "from", frame.say(FROM), &period.first.to_string()))
                (text_field("date", "to", frame.say(TO), &period.last.to_string()))
                button { (frame.say(APPLY)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TODAY: Day = Day(20_000);

    /// Returns the period of these parameters; an empty one is absent.
    fn of(days: &str, from: &str, to: &str) -> Result<Period, &'static str> {
        let [days, from, to] = [days, from, to].map(|text| Some(text).filter(|it| !it.is_empty()));
        Period::of([days, from, to], TODAY)
    }

    #[test]
    fn a_query_chooses_a_period() {
        let default = Period::of([None; 3], TODAY).expect("a period");
        assert_eq!((default.length(), default.last()), (28, TODAY));
        assert_eq!(of("7", "", "").map(Period::first), Ok(Day(TODAY.0 - 6)));
        let some = of("", "2024-01-30", "2024-02-02").expect("a period");
        assert_eq!((some.length(), some.query().as_str()), (4, "from=2024-01-30&to=2024-02-02"));
        assert_eq!(some.first_before().to_string(), "2024-01-26");
        let until = of("", "", "2024-02-02").expect("a period");
        assert_eq!((until.length(), until.last()), (DAYS_MAX, some.last()));
        assert_eq!(of("", "", "1970-01-02").map(Period::length), Ok(2));
        for (days, from, to, named) in [
            ("0", "", "", "days"),
            ("3661", "", "", "days"),
            ("x", "", "", "days"),
            ("yesterday", "2024-01-01", "", "days"),
            ("7", "2024-01-01", "", "days"),
            ("", "2024-02-30", "", "from"),
            ("", "2024-1-1", "", "from"),
            ("", "1969-12-31", "", "from"),
            ("", "2024-01-01", "today", "to"),
            ("", "2024-01-02", "2024-01-01", "from"),
            ("", "1999-01-01", "2024-01-01", "from"),
        ] {
            assert_eq!(of(days, from, to), Err(named), "{days} {from} {to}");
        }
    }

    /// A day is compared with the same weekday before; today is not compared.
    #[test]
    fn days_are_compared_with_those_that_have_ended() {
        let yesterday = of("yesterday", "", "").expect("a period");
        assert_eq!((yesterday.first(), yesterday.last()), (Day(TODAY.0 - 1), Day(TODAY.0 - 1)));
        assert_eq!(
            (yesterday.first_before(), yesterday.query()),
            (Day(TODAY.0 - 8), "days=yesterday".to_owned())
        );
        assert_eq!(yesterday.last_ended(), Some(yesterday.last()));
        assert_eq!(of("1", "", "").map(Period::first_before), Ok(Day(TODAY.0 - 7)));
        assert_eq!(of("1", "", "").map(Period::last_ended), Ok(None));
        assert_eq!(of("7", "", "").map(Period::last_ended), Ok(Some(Day(TODAY.0 - 1))));
        let past = of("", "2024-01-01", "2024-01-02").expect("a period");
        assert_eq!(past.last_ended(), Some(past.last()));
    }

    proptest! {
        /// Every day of a period is in one span, in order; a span that is cut by today or by the
        /// ends of the period is not complete.
        #[test]
        fn spans_divide_a_period(first in 15_000_i64..20_000, length in 1_i64..3_660) {
            let (first, last) = (Day(first), Day(first + length - 1));
            let period = Period { first, last, today: TODAY };
            let spans = period.spans();
            let mut next = first;
            for span in &spans {
                prop_assert_eq!(span.first, next);
                prop_assert!(span.last >= span.first);
                prop_assert!(!span.is_complete || span.last < TODAY);
                next = span.last.next();
            }
            prop_assert_eq!(next, last.next());
            prop_assert!(spans.len() <= 122);
            let days = |span: &Span| span.last.0 - span.first.0 + 1;
            if period.span_length() == SpanLength::Week {
                let whole = spans.iter().filter(|span| span.is_complete);
                prop_assert!(whole.clone().all(|span| days(span) == 7));
            }
        }

        #[test]
        fn no_text_panics(days in ".{0,12}", from in ".{0,12}", to in ".{0,12}") {
            let query = [&days, &from, &to].map(|text| Some(text.as_str()));
            let _ = Period::of(query, TODAY).map(Period::spans);
        }
    }
}
