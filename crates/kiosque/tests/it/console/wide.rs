//! Pages on a wide screen.

use super::{CHINESE, COLOURS, Console, WIDTHS};

const WIDE: u32 = 1_440;

/// No field of a filter is wider than its label, which others would hide.
#[test]
fn the_fields_of_filters_are_in_their_labels() {
    let mut console = Console::of_demo();
    console.sign_in_at("/console/");
    for width in [WIDTHS[0], WIDE] {
        console.show_as(width, COLOURS[0]);
        for page in ["/console/", "/console/devices", "/console/orders"] {
            console.open(page);
            let wide = "return [...document.querySelectorAll('.filter label')]
                .filter((label) => label.scrollWidth > label.clientWidth).length";
            assert_eq!(console.browser.run(wide), 0, "{page} at {width} px");
        }
    }
}

/// The filter of the list of orders, which has the most fields, is one row with its button.
#[test]
fn the_filter_of_orders_is_one_row() {
    let mut console = Console::of_fleet();
    console.sign_in_at("/console/orders");
    console.show_as(WIDE, COLOURS[0]);
    for language in ["en", CHINESE] {
        console.choose("language", language);
        let ends = "const ends = [...document.querySelectorAll('.card > .filter > *')]
            .map((field) => Math.round(field.getBoundingClientRect().bottom));
            return [ends.length, new Set(ends).size]";
        assert_eq!(console.browser.run(ends), serde_json::json!([9, 1]), "{language}");
    }
}
