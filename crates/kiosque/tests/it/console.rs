//! The console in a real browser, Chromium.

mod keyboard;
mod live;
mod page;
mod phone;
mod pictures;
mod preferences;
mod walk;
mod wide;

use kiosque_testkit::{Chromium, Key, Sandbox, Served, Window, wait_until};

use crate::fleet::fleet;
use crate::{KIOSQUE, demo};

/// The widths of a phone and of a laptop.
const WIDTHS: [u32; 2] = [390, 1_280];
const COLOURS: [&str; 2] = ["light", "dark"];
/// The code of the second language.
const CHINESE: &str = "zh-CN";

/// A server with a key of all rights, and a browser.
struct Console {
    browser: Chromium,
    served: Served,
    _sandbox: Sandbox,
    key: String,
}

impl Console {
    /// Serves a demo with live kiosks.
    fn of_demo() -> Console {
        // A browser may take long to start.
        let (browser, sandbox) = (Chromium::start(), KIOSQUE.sandbox());
        let served = demo::start(&sandbox, &[]);
        let key = demo::key(&served);
        Console { browser, served, _sandbox: sandbox, key }
    }

    /// Serves the fleet without orders.
    fn of_fleet() -> Console {
        Console::of_fleet_with(&[])
    }

    /// Serves the fleet without orders, with more arguments.
    fn of_fleet_with(more: &[&str]) -> Console {
        let (browser, sandbox) = (Chromium::start(), KIOSQUE.sandbox_with(fleet(), "UTC"));
        let key = sandbox.create_key(&["office"]);
        let served = sandbox.serve_with(more);
        Console { browser, served, _sandbox: sandbox, key }
    }

    /// Returns the URL of a path.
    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.served.operator())
    }

    fn open(&mut self, path: &str) {
        let url = self.url(path);
        self.browser.open(&url);
    }

    /// Shows pages as a device of this width does.
    fn show_as(&mut self, width: u32, colours: &str) {
        self.browser.show_as(Window { width, height: 800, scale: 1 }, colours);
    }

    /// Opens a page without a session, and signs in with the keyboard alone.
    fn sign_in_at(&mut self, path: &str) {
        self.open(path);
        let focused = "return document.activeElement.name === 'key'";
        wait_until("the field of the key has the focus", || {
            let has_focus = self.browser.run(focused) == true;
            if !has_focus {
                self.browser.press(Key::Tab);
            }
            has_focus
        });
        let key = self.key.clone();
        self.browser.type_text(&key);
        self.browser.press(Key::Enter);
        self.wait_for_path(path);
    }

    /// Waits until the browser shows a page.
    fn wait_for_path(&mut self, path: &str) {
        self.browser.wait_for(&format!(
            "return document.readyState === 'complete'
                && location.pathname + location.search === {path:?}"
        ));
    }
}
