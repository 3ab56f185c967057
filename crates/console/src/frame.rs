//! The frame of a page: its head, the navigation, and the forms common to all pages.

use kiosque_locale::Locale;
use kiosque_model::{Right, Rights, UnixMs, Zone};
use maud::{DOCTYPE, Markup, html};
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::assets;
use crate::text::{Text, texts};
use crate::words::{DEVICES, KEY, ORDERS, SEARCH};

texts! {
    OVERVIEW: "Overview", "概览";
    INTEGRATORS: "Integrators", "集成方";
    INTAKE: "Intake", "接收";
    AUDIT: "Audit", "审计";
    KEYS: "Keys", "密钥管理";
    SERVICE: "Service", "服务";
    API: "API", "接口";
    REFILL: "Refill", "补货";
    FAILED: "{0} to check", "{0} 项待查";
    CONSOLE: "Console", "控制台";
    ABOVE: "The list above this page", "上级列表";
    SKIP: "Skip to content", "跳到正文";
    TIME_ZONE: "Times in {0}", "时间按 {0}";
    SIGN_OUT: "Sign out", "退出";
    THEME: "Theme", "主题";
    LANGUAGE: "Language", "语言";
    OWN_NAME: "English", "中文";
    SEARCHED: "Device, order, request or account", "设备、订单、请求或账户";

    /// Returns the name of a theme.
    fn theme_name(Theme) {
        System: "System", "跟随系统";
        Light: "Light", "浅色";
        Dark: "Dark", "深色";
    }
}

/// The colours of the pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr, EnumString, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Theme {
    /// The browser's preference.
    #[default]
    System,
    /// Dark text on a light ground.
    Light,
    /// Light text on a dark ground.
    Dark,
}

/// An entry of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub enum Section {
    /// The figures of the fleet.
    Overview,
    /// The devices, and each of them.
    Devices,
    /// The aisles that run out first.
    Refill,
    /// The orders, and each of them.
    Orders,
    /// The accounts of integrators and their sessions.
    Integrators,
    /// The streams of orders, imports and heartbeats.
    Intake,
    /// The audit trail.
    Audit,
    /// The operator's keys.
    Keys,
    /// The program, its storage and its limits.
    Service,
    /// The calls of integrators and of the operator.
    Api,
}

/// The path of an integrator account's page; `name` is a parameter.
pub const ACCOUNT_PATH: &str = "/console/integrators/account";

/// The path of the search; its text `q` is a parameter.
pub const SEARCH_PATH: &str = "/console/search";

/// The parts of a page that do not depend on its subject.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The language.
    pub language: Locale,
    /// The colours.
    pub theme: Theme,
    /// The rights of the key. The navigation has the sections that they permit.
    pub rights: &'a Rights,
    /// The name of the key.
    pub key_name: &'a str,
    /// The platform's time zone, in which times are shown.
    pub zone: &'a Zone,
    /// The time of the request.
    pub now: UnixMs,
    /// The number of checks of the service that are not ok, which the navigation and the overview
    /// show.
    pub failed_checks: i64,
    /// The path and query of the request. The forms of the frame return to it.
    pub address: &'a str,
}

#[cfg(test)]
impl<'a> Frame<'a> {
    /// Returns a frame in English for tests, at the beginning of 1970.
    pub(crate) fn sample(rights: &'a Rights, zone: &'a Zone, address: &'a str) -> Frame<'a> {
        Frame {
            language: Locale::En,
            theme: Theme::System,
            rights,
            key_name: "office",
            zone,
            now: UnixMs(0),
            failed_checks: 0,
            address,
        }
    }
}

/// A page in its frame.
#[derive(Default)]
pub(crate) struct Page<'a> {
    /// The heading, and the first part of the title.
    pub(crate) heading: &'a str,
    /// A line next to the heading.
    pub(crate) note: Markup,
    /// Pickers and links opposite the heading.
    pub(crate) actions: Markup,
    /// The content.
    pub(crate) content: Markup,
    /// The interval, in seconds, at which the script replaces the elements with `data-live`.
    pub(crate) refresh_s: Option<u32>,
}

impl Theme {
    /// All themes.
    pub const ALL: &[Theme] = Theme::VARIANTS;

    /// Returns the code in cookies and in forms.
    pub fn code(self) -> &'static str {
        self.into()
    }
}

impl Section {
    /// All sections, in the order of the navigation.
    pub const ALL: &[Section] = Section::VARIANTS;

    /// Returns the first section that a person may see.
    pub fn first(rights: &Rights) -> Section {
        let mut permitted = Section::ALL.iter().filter(|section| rights.contain(section.right()));
        permitted.next().copied().unwrap_or(Section::Overview)
    }

    /// Returns the path of its first page, the right that its pages require, and its name.
    const fn entry(self) -> (&'static str, Right, Text) {
        match self {
            Section::Overview => ("/console/", Right::Read, OVERVIEW),
            Section::Devices => ("/console/devices", Right::Read, DEVICES),
            Section::Refill => ("/console/refill", Right::Read, REFILL),
            Section::Orders => ("/console/orders", Right::Read, ORDERS),
            Section::Integrators => ("/console/integrators", Right::Read, INTEGRATORS),
            Section::Intake => ("/console/intake", Right::Read, INTAKE),
            Section::Audit => ("/console/audit", Right::Audit, AUDIT),
            Section::Keys => ("/console/keys", Right::Keys, KEYS),
            Section::Service => ("/console/service", Right::Read, SERVICE),
            Section::Api => ("/console/api", Right::Read, API),
        }
    }

    /// Returns the path of its first page.
    pub const fn path(self) -> &'static str {
        self.entry().0
    }

    /// Returns the right that its pages require.
    pub const fn right(self) -> Right {
        self.entry().1
    }

    pub(crate) const fn name(self) -> Text {
        self.entry().2
    }

    /// Returns whether a path is one of this section's pages.
    fn has(self, path: &str) -> bool {
        match path.strip_prefix(self.path()) {
            Some("") => true,
            Some(rest) => self != Section::Overview && rest.starts_with('/'),
            None => false,
        }
    }
}

impl Frame<'_> {
    /// Returns the address without its query.
    pub(crate) fn path(&self) -> &str {
        self.address.split('?').next().unwrap_or(self.address)
    }

    /// Returns a text in the language of the page.
    pub(crate) const fn say(&self, text: Text) -> &'static str {
        text.of(self.language)
    }

    /// Renders a page.
    pub(crate) fn render(&self, page: &Page<'_>) -> String {
        let body = html! {
            a.skip href="#main" { (self.say(SKIP)) }
            header.side {
                (brand(Section::first(self.rights)))
                @if self.rights.contain(Right::Read) { (self.search()) }
                (self.navigation())
            }
            main #main tabindex="-1" data-refresh=[page.refresh_s] {
                div.head {
                    @if let Some(list) = self.list_above() {
                        nav.crumb aria-label=(self.say(ABOVE)) {
                            a href=(list.path()) { "← " (self.say(list.name())) }
                        }
                    }
                    h1 { (page.heading) }
                    (page.note)
                    div.actions { (page.actions) }
                }
                (page.content)
            }
            (self.footer())
        };
        document(self.language, self.theme, page.heading, &body)
    }

    /// Returns the section whose list leads to the page, if the page is not the list itself.
    fn list_above(&self) -> Option<Section> {
        let is_above = |section: &Section| {
            section.path() != self.path()
                && section.has(self.path())
                && self.rights.contain(section.right())
        };
        Section::ALL.iter().copied().find(is_above)
    }

    fn search(&self) -> Markup {
        html! {
            form.search method="get" action=(SEARCH_PATH) role="search" {
                input type="search" name="q" required autocomplete="off"
                    aria-label=(self.say(SEARCHED)) placeholder=(self.say(SEARCHED));
                button aria-label=(self.say(SEARCH)) {
                    svg viewBox="0 0 16 16" aria-hidden="true" {
                        path d="M11 11l4 4M12 7A5 5 0 1 1 2 7a5 5 0 0 1 10 0" {}
                    }
                }
            }
        }
    }

    fn navigation(&self) -> Markup {
        let permitted = Section::ALL.iter().filter(|section| self.rights.contain(section.right()));
        html! {
            nav aria-label=(self.say(CONSOLE)) {
                ul {
                    @for section in permitted {
                        @let current = section.has(self.path()).then_some("page");
                        li { a href=(section.path()) aria-current=[current] {
                            (self.say(section.name()))
                            @if section == &Section::Service && self.failed_checks > 0 {
                                " " span.mark {
                                    (FAILED.fill(self.language, &[&self.failed_checks.to_string()]))
                                }
                            }
                        } }
                    }
                }
            }
        }
    }

    fn footer(&self) -> Markup {
        html! {
            footer.foot {
                p { (self.say(KEY)) " " b { (self.key_name) } }
                p { (TIME_ZONE.fill(self.language, &[self.zone.name()])) }
                (preferences(self.language, self.theme, self.address))
                form method="post" action="/console/logout" {
                    button.plain { (self.say(SIGN_OUT)) }
                }
            }
        }
    }
}

/// Returns the forms that choose the language and the theme, and return to an address.
pub(crate) fn preferences(language: Locale, theme: Theme, address: &str) -> Markup {
    html! {
        form.choice method="post" action="/console/preferences" aria-label=(LANGUAGE.of(language)) {
            input type="hidden" name="return" value=(address);
            @for other in Locale::ALL {
                button.plain name="language" value=(other.tag()) lang=(other.tag())
                    aria-pressed=(*other == language) { (OWN_NAME.of(*other)) }
            }
        }
        form.choice method="post" action="/console/preferences" aria-label=(THEME.of(language)) {
            input type="hidden" name="return" value=(address);
            @for other in Theme::ALL {
                button.plain name="theme" value=(other.code()) aria-pressed=(*other == theme) {
                    (theme_name(*other).of(language))
                }
            }
        }
    }
}

/// Returns the product's name with its logo, as a link to the first page that a person may see.
pub(crate) fn brand(home: Section) -> Markup {
    html! {
        a.brand href=(home.path()) {
            svg viewBox="0 0 20 20" aria-hidden="true" {
                rect width="20" height="20" rx="5" {}
                path d="M5 8h10M5 12h10M8 5v10M12 5v10" {}
            }
            "Kiosque"
        }
    }
}

/// Returns a whole document.
pub(crate) fn document(language: Locale, theme: Theme, title: &str, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang=(language.tag()) data-theme=(theme.code()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " · Kiosque" }
                link rel="icon" type="image/svg+xml" href=(assets::ICON.path());
                link rel="stylesheet" href=(assets::STYLE.path());
                script type="module" src=(assets::SCRIPT.path()) {}
            }
            body { (body) }
        }
    }
    .into_string()
}
