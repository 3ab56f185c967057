//! Pages at the width of a phone.

use kiosque_testkit::{Key, Scripts};

use super::{CHINESE, COLOURS, Console, WIDTHS};

/// Returns the texts of the elements of a selector that are seen without scrolling sideways.
const SEEN: &str = "const isSeen = (part) => {
        const box = part.getBoundingClientRect();
        return box.width > 0 && box.left >= 0 && box.right <= innerWidth;
    };
    return [...document.querySelectorAll('SELECTOR')].filter(isSeen).map((part) => part.innerText)";

impl Console {
    fn seen(&mut self, selector: &str) -> Vec<String> {
        let seen = self.browser.run(&SEEN.replace("SELECTOR", selector));
        seen.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn all_sections_and_the_amounts_and_states_of_orders_are_seen_on_a_phone() {
    let mut console = Console::of_fleet();
    console.sell("an-order-with-an-id-as-long-as-those-of-many-machines-are", 250);
    console.sign_in_at("/console/orders");
    console.show_as(WIDTHS[0], COLOURS[0]);
    for (language, states) in [("en", ["paid", "none"]), (CHINESE, ["已支付", "无"])] {
        console.choose("language", language);
        assert_eq!(console.seen("header nav a").len(), 10, "{language}");
        let amount = "2.50 USD".to_owned();
        assert_eq!(console.seen(".orders [data-name]"), [amount.clone(), amount], "{language}");
        assert_eq!(console.seen(".orders .badge"), states, "{language}");
        assert_eq!(console.seen(".orders tbody a")[1], "D1", "{language}");
    }
}

/// The search of a page leads to what is typed, with the keyboard alone.
#[test]
fn a_search_works_without_scripts() {
    let mut console = Console::of_fleet();
    console.sell("o 1&x", 250);
    console.sign_in_at("/console/service");
    console.browser.set_scripts(Scripts::Off);
    for width in WIDTHS {
        console.show_as(width, COLOURS[0]);
        for (text, path) in [
            ("second", "/console/devices/D2"),
            ("o 1&x", "/console/orders/north/o%201%26x"),
            ("guest", "/console/integrators/account?name=guest"),
            ("D", "/console/search?q=D"),
        ] {
            console.open("/console/service");
            console.browser.run("document.querySelector('[name=q]').focus()");
            console.browser.type_text(text);
            console.browser.press(Key::Enter);
            console.wait_for_path(path);
        }
    }
}
