//! The components of pages.

use kiosque_model::UnixMs;
use kiosque_model::sales::permille;
use maud::{Markup, Render, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::format;
use crate::frame::{ACCOUNT_PATH, Frame};
use crate::text::{Text, texts};

texts! {
    NEXT: "Next page", "下一页";
    FIRST: "First page", "首页";
    DOWNLOAD: "CSV", "CSV";
    NEVER: "never", "从未";
    JUST_NOW: "just now", "刚刚";
    MINUTES_AGO: "{0} min ago", "{0} 分钟前";
    HOURS_AGO: "{0} h ago", "{0} 小时前";
    DAYS_AGO: "{0} d ago", "{0} 天前";
    SHOW: "Show", "查看";
}

/// Changes of at most this number of tenths of a percent have no colour.
const STEADY_PERMILLE: i64 = 50;
const MINUTE_MS: i64 = 60_000;

/// The meaning of a badge, which its colour repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Warning,
    Neutral,
}

impl Tone {
    const fn class(self) -> &'static str {
        match self {
            Tone::Good => "badge good",
            Tone::Bad => "badge bad",
            Tone::Warning => "badge warning",
            Tone::Neutral => "badge",
        }
    }
}

/// The sort direction of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The smallest value first.
    Ascending,
    /// The largest value first.
    Descending,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column<'a> {
    heading: &'a str,
    class: Option<&'static str>,
    /// The address of the page that is sorted by the column.
    href: Option<String>,
    /// The direction in which the rows are sorted by it, if they are.
    direction: Option<Direction>,
}

impl<'a> Column<'a> {
    /// A column of texts.
    pub(crate) const fn text(heading: &'a str) -> Column<'a> {
        Column { heading, class: None, href: None, direction: None }
    }

    /// A column of numbers, which are aligned at their ends.
    pub(crate) const fn number(heading: &'a str) -> Column<'a> {
        Column { heading, class: Some("number"), href: None, direction: None }
    }

    pub(crate) const fn is_number(&self) -> bool {
        self.class.is_some()
    }

    /// Returns the column with a link that sorts by it. `direction` is the direction of the rows,
    /// if they are sorted by it.
    pub(crate) fn sorted(self, href: String, direction: Option<Direction>) -> Column<'a> {
        Column { href: Some(href), direction, ..self }
    }
}

/// Returns columns of texts, and after them columns of numbers.
pub(crate) fn columns(frame: &Frame<'_>, texts: &[Text], numbers: &[Text]) -> Vec<Column<'static>> {
    let texts = texts.iter().map(|heading| Column::text(frame.say(*heading)));
    let numbers = numbers.iter().map(|heading| Column::number(frame.say(*heading)));
    texts.chain(numbers).collect()
}

/// A figure with its name and its change.
pub(crate) struct Tile<'a> {
    pub(crate) name: &'a str,
    pub(crate) value: String,
    /// The page with the items that the figure counts.
    pub(crate) href: Option<String>,
    /// The change from the previous period, in tenths of a percent.
    pub(crate) change: Option<i64>,
    /// A line below the figure.
    pub(crate) note: &'a str,
}

/// Returns the class of the colour of a change; changes of up to 5 % have none.
fn class_of_change(permille: i64) -> &'static str {
    match permille {
        change if change > STEADY_PERMILLE => "change good",
        change if change < -STEADY_PERMILLE => "change bad",
        _ => "change",
    }
}

/// Renders a card: a section with a heading and a note on its unit.
pub(crate) fn card(id: &str, heading: &str, note: &str, body: &Markup) -> Markup {
    html! {
        section.card id=(id) aria-labelledby={ (id) "-heading" } data-live {
            div.card-head {
                h2 id={ (id) "-heading" } { (heading) }
                @if !note.is_empty() { span.note { (note) } }
            }
            (body)
        }
    }
}

/// Renders the only card of a page, which is labelled by the heading of the page.
pub(crate) fn only_card(id: &str, heading: &str, body: &Markup) -> Markup {
    html! { section.card id=(id) aria-label=(heading) data-live { (body) } }
}

/// Renders a tile.
pub(crate) fn tile(tile: &Tile<'_>) -> Markup {
    html! {
        div.tile {
            dt { (tile.name) }
            dd.figure { (linked(tile.href.as_deref(), &tile.value)) }
            dd.note {
                @if let Some(change) = tile.change {
                    span class=(class_of_change(change)) { (format::change(change)) } " "
                }
                (tile.note)
            }
        }
    }
}

/// Renders a table that scrolls within itself when it is wider than the page, also with the
/// keyboard. `cells` renders the cells of a row. The table is a group, since the card around it is
/// already a landmark.
pub(crate) fn table<R>(
    caption: &str,
    columns: &[Column<'_>],
    rows: impl IntoIterator<Item = R>,
    cells: impl Fn(R) -> Markup,
) -> Markup {
    html! {
        div.scroll role="group" aria-label=(caption) tabindex="0" {
            table {
                thead { tr {
                    @for column in columns {
                        @let direction = column.direction.map(|direction| match direction {
                            Direction::Ascending => "ascending",
                            Direction::Descending => "descending",
                        });
                        th scope="col" class=[column.class] aria-sort=[direction] {
                            (linked(column.href.as_deref(), column.heading))
                        }
                    }
                } }
                tbody { @for row in rows { tr { (cells(row)) } } }
            }
        }
    }
}

/// Renders a list of figures by name, each with a bar for its share of the largest one. `figure`
/// formats a value.
pub(crate) fn bars(rows: &[BarRow<'_>], figure: impl Fn(i64) -> String) -> Markup {
    let most = rows.iter().map(|row| row.value).max().unwrap_or_default().max(1);
    html! {
        ul.bars {
            @for row in rows {
                li {
                    span.bar-name {
                        (linked(row.href.as_deref(), row.name))
                        @if !row.note.0.is_empty() { " " span.note { (row.note) } }
                    }
                    span.bar-value { (linked(row.value_href.as_deref(), &figure(row.value))) }
                    svg.bar viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" {
                        rect.track width="1000" height="10" {}
                        rect.fill width=(permille(row.value.max(0), most)) height="10" {}
                    }
                }
            }
        }
    }
}

/// A row of [`bars`].
pub(crate) struct BarRow<'a> {
    pub(crate) name: &'a str,
    pub(crate) href: Option<String>,
    pub(crate) note: Markup,
    pub(crate) value: i64,
    /// The page with the items that the value counts.
    pub(crate) value_href: Option<String>,
}

/// Renders a text, as a link if it leads to a page.
pub(crate) fn linked(href: Option<&str>, text: &str) -> Markup {
    html! {
        @match href {
            Some(href) => a href=(href) { (text) },
            None => (text),
        }
    }
}

/// Renders a badge. Its text says everything that its colour does.
pub(crate) fn badge(tone: Tone, text: &str) -> Markup {
    html! { span class=(tone.class()) { (text) } }
}

/// Renders a message in place of absent content.
pub(crate) fn empty(text: &str) -> Markup {
    html! { p.empty { (text) } }
}

/// Renders names with their values.
pub(crate) fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in facts { div { dt { (name) } dd { (value) } } }
        }
    }
}

/// Renders a filter form, which is sent as the query of `action`. `fields` are controls with their
/// labels; see [`text_field`] and [`choice`].
pub(crate) fn filter(frame: &Frame<'_>, action: &str, fields: &Markup) -> Markup {
    html! {
        form.filter method="get" action=(action) {
            (fields)
            (submit(frame))
        }
    }
}

/// Renders the button that sends a filter form.
pub(crate) fn submit(frame: &Frame<'_>) -> Markup {
    html! { button { (frame.say(SHOW)) } }
}

/// Renders a text field of a form. `kind` is a type of `input`, such as `search` or `date`.
pub(crate) fn text_field(kind: &str, name: &str, label: &str, value: &str) -> Markup {
    html! {
        label { (label) input type=(kind) name=(name) value=(value) autocomplete="off"; }
    }
}

/// Renders a choice of a form. `options` have a value and a text; `all` is the text of the first
/// option, whose value is empty.
pub(crate) fn choice<'a, T: AsRef<str>>(
    name: &str,
    label: &str,
    all: &str,
    options: impl IntoIterator<Item = (&'a str, T)>,
    chosen: &str,
) -> Markup {
    html! {
        label {
            (label)
            select name=(name) {
                option value="" selected[chosen.is_empty()] { (all) }
                @for (value, text) in options {
                    option value=(value) selected[value == chosen] { (text.as_ref()) }
                }
            }
        }
    }
}

/// Renders the links to the first page and to the next one of a list. `query` is the rest of the
/// query, such as `state=silent`, without a cursor. `after` is the cursor of the page, unless it is
/// the first one.
pub(crate) fn pager(
    frame: &Frame<'_>,
    query: &str,
    after: Option<&str>,
    next: Option<&str>,
) -> Markup {
    let path = frame.path();
    html! {
        @if after.is_some() || next.is_some() {
            nav.pager aria-label=(frame.say(NEXT)) {
                @if after.is_some() {
                    a href=(address(path, &[query])) { (frame.say(FIRST)) }
                }
                @if let Some(next) = next {
                    a rel="next" href=(address(path, &[query, &parameter("after", next)])) {
                        (frame.say(NEXT))
                    }
                }
            }
        }
    }
}

/// Renders the link that downloads the rows of a page, given the parts of its query.
pub(crate) fn download(frame: &Frame<'_>, query: &[&str]) -> Markup {
    html! { a.button href=(address(frame.path(), query)) download { (frame.say(DOWNLOAD)) } }
}

/// Renders a time in the platform's zone.
pub(crate) fn time(frame: &Frame<'_>, at: UnixMs) -> Markup {
    html! { time datetime=(at.rfc3339()) { (frame.zone.text(at)) } }
}

/// Renders how long ago a time was, with the time itself as its title.
pub(crate) fn ago(frame: &Frame<'_>, at: Option<UnixMs>) -> Markup {
    let Some(at) = at else { return frame.say(NEVER).render() };
    let minutes = frame.now.0.saturating_sub(at.0) / MINUTE_MS;
    let (text, number): (Text, i64) = match minutes {
        ..1 => (JUST_NOW, 0),
        1..120 => (MINUTES_AGO, minutes),
        120..2_880 => (HOURS_AGO, minutes / 60),
        _ => (DAYS_AGO, minutes / 1_440),
    };
    let text = text.fill(frame.language, &[&format::count(number)]);
    html! { time datetime=(at.rfc3339()) title=(frame.zone.text(at)) { (text) } }
}

/// Returns a parameter of a query: its name, and its percent-encoded value.
pub(crate) fn parameter(name: &str, value: &str) -> String {
    format!("{name}={}", encoded(value))
}

/// Returns the query of the parameters whose values are not empty.
pub(crate) fn query_of(parameters: &[(&str, &str)]) -> String {
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    given.map(|(name, value)| parameter(name, value)).collect::<Vec<_>>().join("&")
}

/// Returns a path with the parts of a query that are not empty.
pub(crate) fn address(path: &str, query: &[&str]) -> String {
    let parts = query.iter().copied().filter(|part| !part.is_empty());
    match parts.collect::<Vec<_>>().join("&").as_str() {
        "" => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

/// Returns the address of the page of an account.
pub fn account_path(account: &str) -> String {
    address(ACCOUNT_PATH, &[&parameter("name", account)])
}

/// The characters that a segment of a path or a value of a query cannot contain literally.
const RESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns a percent-encoded text, for a segment of a path or a value of a query.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, &RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use kiosque_model::{Rights, Zone};

    use super::*;

    #[test]
    fn only_changes_beyond_five_percent_are_coloured() {
        assert_eq!([50, -50, 0].map(class_of_change), ["change"; 3]);
        assert_eq!([51, -51].map(class_of_change), ["change good", "change bad"]);
    }

    #[test]
    fn addresses_keep_any_text() {
        assert_eq!(encoded("K 1/ü&?"), "K%201%2F%C3%BC%26%3F");
        let more = parameter("after", "a&b");
        let address = |query: &[&str]| address("/console/devices", query);
        assert_eq!(address(&["q=x", "", &more]), "/console/devices?q=x&after=a%26b");
        assert_eq!(address(&["", ""]), "/console/devices");
    }

    #[test]
    fn ages_are_rounded_down() {
        let (rights, zone) = (Rights::all(), Zone::utc());
        let now = UnixMs(1_700_000_000_000);
        let frame = Frame { now, ..Frame::sample(&rights, &zone, "/console/") };
        for (minutes, text) in [
            (0, "just now"),
            (1, "1 min ago"),
            (119, "119 min ago"),
            (120, "2 h ago"),
            (2_879, "47 h ago"),
            (2_880, "2 d ago"),
        ] {
            let rendered = ago(&frame, Some(now.plus_ms(-minutes * MINUTE_MS))).into_string();
            assert!(rendered.contains(&format!(">{text}<")), "{rendered}");
        }
        assert_eq!(ago(&frame, None).into_string(), "never");
        assert!(ago(&frame, Some(UnixMs(i64::MAX))).into_string().contains("just now"));
    }

    #[test]
    fn markup_in_a_text_is_text() {
        let note = "\"&".render();
        let rows = [BarRow { name: "<b>", href: None, note, value: 1, value_href: None }];
        let rendered = bars(&rows, format::count).into_string();
        assert!(rendered.contains("&lt;b&gt;") && !rendered.contains("<b>"), "{rendered}");
        let field = text_field("search", "q", "Search", "\"><script>").into_string();
        assert!(!field.contains("<script>") && field.contains("&quot;&gt;"), "{field}");
    }
}
