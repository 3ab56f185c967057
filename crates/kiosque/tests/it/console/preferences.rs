//! The language and the theme that a person chooses.

use super::{CHINESE, COLOURS, Console, WIDTHS};

const GROUND: &str = "return getComputedStyle(document.body).backgroundColor";

impl Console {
    /// Presses a button of the forms that every page has, and waits for the page to be shown again.
    pub(super) fn choose(&mut self, name: &str, value: &str) {
        self.browser.run("document.documentElement.dataset.old = true");
        let press = format!("document.querySelector('[name={name}][value={value}]').click()");
        self.browser.run(&press);
        let is_new = "return document.readyState === 'complete'
            && document.documentElement.dataset.old === undefined";
        self.browser.wait_for(is_new);
    }
}

/// The theme of the browser holds until another one is chosen. Choices hold on all pages, and lead
/// back to the page on which they were made.
#[test]
fn a_chosen_theme_and_language_hold_on_all_pages() {
    let mut console = Console::of_fleet();
    let [light, dark] = COLOURS;
    console.sign_in_at("/console/");
    let grounds = COLOURS.map(|colours| {
        console.show_as(WIDTHS[1], colours);
        console.browser.run(GROUND)
    });
    assert_ne!(grounds[0], grounds[1]);
    console.show_as(WIDTHS[1], light);
    console.open("/console/devices?q=first");
    console.choose("theme", dark);
    console.wait_for_path("/console/devices?q=first");
    assert_eq!(console.browser.run(GROUND), grounds[1]);
    console.choose("language", CHINESE);
    console.wait_for_path("/console/devices?q=first");
    console.open("/console/orders");
    assert_eq!(console.browser.run(GROUND), grounds[1]);
    let heading =
        "return [document.documentElement.lang, document.querySelector('h1').textContent]";
    assert_eq!(console.browser.run(heading), serde_json::json!([CHINESE, "订单"]));
}
