//! The console with the keyboard alone.

use kiosque_testkit::{Key, wait_until};
use serde_json::Value;

use super::{COLOURS, Console, WIDTHS};

/// Gives each element that the keyboard must reach a number, and returns them as texts. The page is
/// not refreshed from then on: a refresh replaces elements, and the new ones have no numbers.
const REACHABLE: &str = r#"
document.querySelectorAll("[data-live]").forEach((part) => part.removeAttribute("data-live"));
const selector = "a[href], button, input:not([type=hidden]), select, summary, [tabindex='0']";
const shown = (part) => part.checkVisibility({ visibilityProperty: true });
const parts = [...document.querySelectorAll(selector)].filter(shown);
parts.forEach((part, at) => { part.dataset.at = at; });
return parts.map((part) => part.outerHTML.slice(0, 120));
"#;

/// Returns the focused element: its number, and whether the focus and the element can be seen.
const FOCUSED: &str = r#"
const part = document.activeElement;
const box = part.getBoundingClientRect();
const style = getComputedStyle(part);
return {
  at: part.dataset.at === undefined ? null : Number(part.dataset.at),
  visible: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2
    && box.right > 0 && box.bottom > 0 && box.left < innerWidth && box.top < innerHeight,
};
"#;

/// Signing in, the link that skips the navigation, the navigation, and the forms, links and charts
/// of a page: each is reached, its focus is seen, and none holds the focus.
#[test]
fn every_control_is_reached_with_the_keyboard() {
    let mut console = Console::of_fleet();
    console.sign_in_at("/console/");
    for path in ["/console/", "/console/devices", "/console/orders", "/console/keys"] {
        for width in WIDTHS {
            console.show_as(width, COLOURS[0]);
            console.open(path);
            let reachable = console.browser.run(REACHABLE);
            let reachable = reachable.as_array().unwrap();
            let mut reached = vec![false; reachable.len()];
            // A field for a date has its own four places.
            for _ in 0..=4 * reachable.len() {
                if !reached.contains(&false) {
                    break;
                }
                console.browser.press(Key::Tab);
                let focused = console.browser.run(FOCUSED);
                let Some(at) = focused["at"].as_u64() else { continue };
                let at = usize::try_from(at).unwrap();
                reached[at] = true;
                let place = format!("{path} ({width} px): {}", reachable[at]);
                assert_eq!(focused["visible"], true, "the focus is not seen: {place}");
            }
            let missed = reachable.iter().zip(&reached).filter(|(_, reached)| !**reached);
            let missed: Vec<&Value> = missed.map(|(element, _)| element).collect();
            assert!(missed.is_empty(), "{path} ({width} px): not reached: {missed:#?}");
        }
    }
}

#[test]
fn the_first_link_skips_the_navigation() {
    let mut console = Console::of_fleet();
    console.sign_in_at("/console/devices");
    console.browser.press(Key::Tab);
    let text = "return document.activeElement.textContent";
    assert_eq!(console.browser.run(text), "Skip to content");
    console.browser.press(Key::Enter);
    wait_until("the content has the focus", || {
        console.browser.run("return document.activeElement.id") == "main"
    });
    console.browser.press(Key::Tab);
    let is_inside = "return document.activeElement.closest('main') !== null";
    assert_eq!(console.browser.run(is_inside), true);
}

/// Arrow keys move along the points of a chart, and the live region has the text of the point.
#[test]
fn charts_are_read_with_the_arrow_keys() {
    let mut console = Console::of_fleet();
    console.show_as(WIDTHS[1], COLOURS[0]);
    console.sign_in_at("/console/?days=7");
    console.browser.run("document.querySelector('[data-chart]').focus()");
    let mut read = |key| {
        console.browser.press(key);
        let shown = "const text = document.querySelector('.points .active text');
            const said = document.getElementById('said').textContent;
            return [text.textContent, getComputedStyle(text).display, said]";
        let shown = console.browser.run(shown);
        assert_eq!((&shown[1], &shown[2]), (&"block".into(), &shown[0]), "{shown}");
        shown[0].as_str().unwrap().split(' ').next().unwrap().to_owned()
    };
    let first = read(Key::Home);
    let second = read(Key::Right);
    let last = read(Key::End);
    let before = read(Key::Left);
    assert!(first < second && second < before && before < last, "{first} {second} {before} {last}");
    assert_eq!(read(Key::Home), first);
    assert_eq!(read(Key::Left), first, "the first point has none before it");
}

/// A button of a snippet copies its text and shows that it has. In a browser that does not permit
/// that, it selects the text.
#[test]
fn a_snippet_is_copied_or_selected() {
    const READ: &str = "clipboardReadWrite";
    const WRITE: &str = "clipboardSanitizedWrite";
    let mut console = Console::of_fleet();
    console.sign_in_at("/console/api/integrator/devicePage");
    console.browser.permit(&[READ, WRITE]);
    let text = console.press_copy("curl");
    assert!(text.contains("devicePage"), "{text}");
    wait_until("the button shows that it has copied", || {
        console.browser.run("return window.wasDone") == true
    });
    assert_eq!(console.browser.run("return navigator.clipboard.readText()"), text.as_str());
    console.browser.permit(&[READ]);
    let text = console.press_copy("python");
    wait_until("the text is selected", || {
        console.browser.run("return getSelection().toString()").as_str().unwrap().trim()
            == text.trim()
    });
    assert_eq!(console.browser.run("return window.wasDone"), false);
}

impl Console {
    /// Presses the button of a snippet. Returns the text of the snippet.
    fn press_copy(&mut self, id: &str) -> String {
        let button = format!("document.querySelector('[data-copy={id}]')");
        self.browser.run(&format!(
            "window.wasDone = false;
             new MutationObserver(() => {{ window.wasDone = true }})
                .observe({button}, {{ attributeFilter: ['class'] }});
             {button}.focus()"
        ));
        self.browser.press(Key::Enter);
        let text = self.browser.run(&format!("return document.getElementById('{id}').textContent"));
        text.as_str().unwrap().to_owned()
    }
}
