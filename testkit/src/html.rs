//! Parts of the console's pages.

/// Returns the parts of a page between two texts.
pub fn between<'p>(page: &'p str, start: &'p str, end: &'p str) -> Vec<&'p str> {
    page.split(start).skip(1).filter_map(|rest| rest.split(end).next()).collect()
}

/// Returns the card of a page with an id.
#[track_caller]
pub fn card<'p>(page: &'p str, id: &str) -> &'p str {
    let start = format!("<section class=\"card\" id=\"{id}\"");
    page.split(start.as_str()).nth(1).and_then(|rest| rest.split("</section>").next()).unwrap()
}

/// Returns a count in the format of pages.
pub fn grouped(number: i64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}
