//! A walk over all pages, which finds them by the links of the navigation and of the pages.

use std::collections::BTreeSet;

use kiosque_testkit::Scripts;

use super::{CHINESE, COLOURS, Console, WIDTHS};

/// The variable with the path of `axe.min.js`, which CI sets: see `xtask/src/axe.rs`.
const AXE: &str = "KIOSQUE_AXE";
/// A width of 1,280 at a zoom of 200 %, and at 400 %.
const ZOOMED: [u32; 2] = [640, 320];

const LINKS: &str = "return [...document.querySelectorAll('a[href]:not([download])')]
    .map((link) => link.href)";

impl Console {
    /// Returns the path of every page that can be reached by links, one of each kind.
    fn pages(&mut self) -> Vec<String> {
        let mut pages = vec!["/console/".to_owned()];
        let mut kinds = BTreeSet::from([kind_of(&pages[0])]);
        let mut at = 0;
        while let Some(page) = pages.get(at).cloned() {
            self.open(&page);
            let (links, base) = (self.browser.run(LINKS), self.url(""));
            for link in links.as_array().unwrap() {
                let link = link.as_str().unwrap();
                let path = link.strip_prefix(&base);
                let path = path.unwrap_or_else(|| panic!("{page} leads to {link}"));
                let path = path.split('#').next().unwrap();
                if kinds.insert(kind_of(path)) {
                    pages.push(path.to_owned());
                }
            }
            at += 1;
        }
        pages
    }
}

/// Returns the path of a page without what it is about, such as `console devices *`.
fn kind_of(path: &str) -> String {
    let path = path.split('?').next().unwrap().trim_matches('/');
    let parts = path.split('/').enumerate().map(|(at, part)| if at < 2 { part } else { "*" });
    parts.collect::<Vec<_>>().join(" ")
}

/// No page has an error or a violation of the policy in the browser's console, asks another host,
/// or scrolls horizontally: at the widths of a phone, of a laptop, and zoomed, in both themes, with
/// scripts and without, and in both languages. Each has one `h1`, a title and a language. With
/// axe-core, it has no violation of its rules either.
#[test]
fn every_page_works_at_all_widths_in_both_themes_with_and_without_scripts() {
    let mut console = Console::of_demo();
    let axe = std::env::var_os(AXE).map(|path| std::fs::read_to_string(path).unwrap());
    console.served.connect().log_in("demo", "kiosque-demo");
    // Events of the start are no page's.
    console.browser.events();
    let mut failures = String::new();
    let token = "A".repeat(43);
    let signed_out = ["/console/login".to_owned(), format!("/console/login?link={token}")];
    console.walk(&signed_out, axe.as_deref(), &mut failures);
    console.sign_in_at("/console/");
    let mut pages = console.pages();
    // The links of the list lead to a call without a body first.
    pages.push("/console/api/integrator/queryOrderList".to_owned());
    pages.extend(["/console/search?q=HBR-00", "/console/?days=yesterday"].map(str::to_owned));
    pages.push("/console/orders?shipment=failed%2Cpartial&payment=paid".to_owned());
    pages.push("/console/integrators?sort=-used".to_owned());
    println!("{pages:#?}");
    for page in ["/console/service", "/console/keys"] {
        assert!(pages.iter().any(|found| found == page), "no link leads to {page}: {pages:?}");
    }
    console.browser.messages();
    console.browser.events();
    console.walk(&pages, axe.as_deref(), &mut failures);
    console.check_page("/console/nothing", 404, "absent", &mut failures);
    console.walk_in_chinese(&pages, &mut failures);
    assert!(failures.is_empty(), "\n{failures}");
}

impl Console {
    fn walk(&mut self, pages: &[String], axe: Option<&str>, failures: &mut String) {
        for (scripts, name) in [(Scripts::On, "scripts"), (Scripts::Off, "no scripts")] {
            self.browser.set_scripts(scripts);
            for width in WIDTHS {
                for colours in COLOURS {
                    self.show_as(width, colours);
                    let place = format!("{width} px, {colours}, {name}");
                    for page in pages {
                        self.check_page(page, 200, &place, failures);
                        if let Some(axe) = axe.filter(|_| scripts == Scripts::On) {
                            self.check_with_axe(axe, &format!("{page} ({place})"), failures);
                        }
                    }
                }
            }
        }
        self.browser.set_scripts(Scripts::On);
        for width in ZOOMED {
            self.show_as(width, COLOURS[0]);
            for page in pages {
                self.check_page(page, 200, &format!("{width} px, zoomed"), failures);
            }
        }
    }

    /// Checks the pages in Chinese, on a phone.
    fn walk_in_chinese(&mut self, pages: &[String], failures: &mut String) {
        self.show_as(WIDTHS[0], COLOURS[0]);
        self.open(&pages[0]);
        self.choose("language", CHINESE);
        for page in pages {
            self.check_page(page, 200, CHINESE, failures);
        }
    }
}
