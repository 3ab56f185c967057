//! The search on every page: devices, orders, refused requests and accounts by one text.

use maud::{Markup, html};

use crate::components::{account_path, address, card, columns, empty, parameter, table};
use crate::frame::{Frame, Page, Section};
use crate::groups::Groups;
use crate::text::{Text, texts};
use crate::words::{ACCOUNT, DEVICE, GROUP, ORDER, SEARCH};
use crate::{devices, orders, refused};

texts! {
    RESULTS: "Results for {0}", "“{0}”的结果";
    KIND: "Kind", "类型";
    FOUND: "Found", "结果";
    REQUEST: "Refused request", "被拒绝的请求";
    NONE_FOUND: "Nothing matches. Devices are found by a part of their code or name, orders by \
        order id or trade number, refused requests of the last day by request id, accounts by the \
        beginning of their name.",
        "没有匹配项。设备按编码或名称的一部分查找，订单按订单号或交易号，最近一天被拒绝的请求按请求编号，账户按名称开头。";
    NONE_IN_PART: "Nothing matches so far. Only a part of the devices was searched; the list of \
        devices goes on.",
        "目前没有匹配项。仅搜索了部分设备，可在设备列表中继续查找。";
    MORE: "All devices that match", "所有匹配的设备";
    MORE_ORDERS: "More orders with this number", "更多使用此编号的订单";
    MORE_ACCOUNTS: "More accounts that begin with {0}", "更多以“{0}”开头的账户";
}

/// What a search has found.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The text.
    pub text: String,
    /// The names of groups.
    pub groups: Groups,
    /// The hits, exact ones first.
    pub hits: Vec<Hit>,
    /// Whether more devices match.
    pub has_more: bool,
    /// Whether more orders have this number.
    pub has_more_orders: bool,
    /// The account after which more accounts match; `None` if all of them are hits.
    pub accounts_after: Option<String>,
}

/// A hit of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hit {
    /// A device.
    Device {
        /// The `deviceCode`.
        code: String,
        /// Its name.
        name: String,
        /// The group that owns it now.
        group_id: String,
    },
    /// An order.
    Order {
        /// The `orderId`.
        id: String,
        /// The group in which it is stored.
        group_id: String,
    },
    /// The id of a refused request.
    Request(String),
    /// The login name of an account.
    Account(String),
}

impl Hit {
    /// Returns the address of its page.
    pub fn path(&self) -> String {
        match self {
            Hit::Device { code, .. } => devices::path_of(code),
            Hit::Order { id, group_id } => orders::path_of(group_id, id),
            Hit::Request(id) => refused::path_of(id),
            Hit::Account(name) => account_path(name),
        }
    }

    const fn kind(&self) -> Text {
        match self {
            Hit::Device { .. } => DEVICE,
            Hit::Order { .. } => ORDER,
            Hit::Request(_) => REQUEST,
            Hit::Account(_) => ACCOUNT,
        }
    }
}

/// Renders the hits.
pub fn page(frame: &Frame<'_>, view: &Search) -> String {
    let all = |section: Section| address(section.path(), &[&parameter("q", &view.text)]);
    let none = if view.has_more { NONE_IN_PART } else { NONE_FOUND };
    let body = html! {
        @if view.hits.is_empty() { (empty(frame.say(none))) } @else { (rows(frame, view)) }
        @if view.has_more { p.more { a href=(all(Section::Devices)) { (frame.say(MORE)) } } }
        @if view.has_more_orders {
            p.more { a href=(all(Section::Orders)) { (frame.say(MORE_ORDERS)) } }
        }
        @if let Some(account) = &view.accounts_after {
            @let others = address(Section::Integrators.path(), &[&parameter("after", account)]);
            p.more { a href=(others) { (MORE_ACCOUNTS.fill(frame.language, &[&view.text])) } }
        }
    };
    let results = RESULTS.fill(frame.language, &[&view.text]);
    frame.render(&Page {
        heading: frame.say(SEARCH),
        content: card("hits", &results, "", &body),
        ..Page::default()
    })
}

fn rows(frame: &Frame<'_>, view: &Search) -> Markup {
    let columns = columns(frame, &[KIND, FOUND, GROUP], &[]);
    table(frame.say(SEARCH), &columns, &view.hits, |hit| {
        let (name, note, group) = match hit {
            Hit::Device { code, name, group_id } => (name, code.as_str(), group_id.as_str()),
            Hit::Order { id, group_id } => (id, "", group_id.as_str()),
            Hit::Request(name) | Hit::Account(name) => (name, "", ""),
        };
        html! {
            td { (frame.say(hit.kind())) }
            th scope="row" { a href=(hit.path()) { (name) } " " span.note { (note) } }
            td { (view.groups.name_of(group)) }
        }
    })
}

#[cfg(test)]
mod tests {
    use kiosque_locale::Locale;
    use kiosque_model::{Rights, Zone};

    use super::*;

    #[test]
    fn a_search_of_a_part_of_the_devices_says_so() {
        let (rights, zone) = (Rights::all(), Zone::utc());
        let shown = |language, has_more| {
            let frame = Frame { language, ..Frame::sample(&rights, &zone, "/console/search?q=x") };
            let view = Search { text: "x".to_owned(), has_more, ..Search::default() };
            let page = page(&frame, &view);
            let (_, hits) = page.split_once("<p class=\"empty\">").expect("no hit");
            hits.split_once("</section>").expect("a card").0.to_owned()
        };
        for (language, part, more) in [
            (
                Locale::En,
                "Nothing matches so far. Only a part of the devices was searched; the list of \
                 devices goes on.",
                "All devices that match",
            ),
            (
                Locale::ZhCn,
                "目前没有匹配项。仅搜索了部分设备，可在设备列表中继续查找。",
                "所有匹配的设备",
            ),
        ] {
            assert_eq!(shown(language, false), format!("{}</p>", NONE_FOUND.of(language)));
            let link = format!("<p class=\"more\"><a href=\"/console/devices?q=x\">{more}</a></p>");
            assert_eq!(shown(language, true), format!("{part}</p>{link}"));
        }
    }
}
