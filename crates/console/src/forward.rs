//! The page that makes a browser repeat a request, this time with its cookies. It is shown for an
//! instant: the answer's `Refresh` header leads to the next page.

use kiosque_locale::Locale;
use maud::html;

use crate::frame::{Section, Theme, brand, document};
use crate::text::texts;

texts! {
    OPENING: "Opening the console", "正在打开控制台";
    CONTINUE: "Continue", "继续";
}

/// Renders a page that leads to an address.
pub fn page(language: Locale, theme: Theme, address: &str) -> String {
    let heading = OPENING.of(language);
    let body = html! {
        main.sign-in #main {
            (brand(Section::Overview))
            h1 { (heading) }
            p { a href=(address) { (CONTINUE.of(language)) } }
        }
    };
    document(language, theme, heading, &body)
}
