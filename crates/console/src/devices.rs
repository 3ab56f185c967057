//! The list of devices.

use kiosque_contract::inventory::DeviceItem;
use kiosque_model::{DeviceState, Need, UnixMs};
use maud::{Markup, html};

use crate::chart::spark;
use crate::components::{
    Tone, ago, badge, choice, columns, download, empty, encoded, filter, only_card, pager,
    query_of, table, text_field,
};
use crate::csv;
use crate::format;
use crate::frame::{Frame, Page, Section};
use crate::groups::Groups;
use crate::sort::{Columns, Listed, Sort, Value};
use crate::text::{Text, texts};
use crate::words::{ALL, DEVICE, GROUP, LAST_ACTIVE, NEEDS_ATTENTION, STATE, STOCK};

texts! {
    SEARCH: "Code or name", "编码或名称";
    ONLINE: "Online", "在线";
    SILENT: "Silent", "离线";
    GROUP_DISABLED: "Group deactivated", "分组已停用";
    DISABLED: "Disabled", "已停用";
    WEEK: "Orders, 7 days", "7 天订单";
    WEEK_SUMMARY: "Orders of the last 7 days, today last: {0}", "最近 7 天的订单，最后为今天：{0}";
    NONE_FOUND: "No device matches.", "没有匹配的设备。";
    MORE: "Only a part of the devices was searched. The next page continues.",
        "仅搜索了部分设备，下一页继续。";

    /// Returns the name of the devices that need attention for a reason.
    fn need_name(Need) {
        Silent: "Silent devices", "离线的设备";
        Broken: "Devices with broken aisles", "有故障货道的设备";
        Empty: "Devices with empty aisles", "有售空货道的设备";
        Unsold: "Devices online without a sale", "在线但无销售的设备";
        Failing: "Devices with more failed shipments", "出货失败增多的设备";
    }

    /// Returns the rule by which devices need attention for a reason.
    fn need_rule(Need) {
        Silent: "Silent: an enabled device of an active group without an order or a heartbeat in \
            the time in which devices count as online.",
            "离线：活跃分组中已启用的设备，在判定在线的时间内没有订单或心跳。";
        Broken: "Broken aisles: one is out of order.", "故障货道：有货道出现故障。";
        Empty: "Empty aisles: one is enabled, works, and has no items.",
            "售空货道：有已启用且正常的货道没有商品。";
        Unsold: "Online without a sale: nothing was sold since the beginning of yesterday, and at \
            least 3 orders on yesterday's weekday in each of the 4 weeks before. The sales in all \
            groups that the device was in count. Devices that came to their group since the \
            beginning of yesterday are left out.",
            "在线但无销售：自昨天零点起没有销售，而此前 4 周中与昨天同一星期几的日子各有至少 3 单，设备所属过的所有分组均计入。\
            自昨天零点起才加入当前分组的设备不计。";
        Failing: "More failed shipments: at least 3 in the last 7 days, today included, and more \
            than twice the share of the 4 weeks before, which had at least 20 shipments, in every \
            group that the device was in.",
            "出货失败增多：最近 7 天（含今天）至少 3 次失败，且失败率超过此前 4 周的两倍，此前 4 周至少有 20 次出货；\
            设备所属过的所有分组均计入。";
    }
}

/// The number of days of a sparkline, including today.
pub const WEEK_DAYS: i64 = 7;

/// A part of the list of devices.
#[derive(Clone, Debug)]
pub struct Devices {
    /// The group that owns them now.
    pub groups: Groups,
    /// The text that a code or a name must contain.
    pub search: String,
    /// The state that they must have.
    pub state: Option<DeviceState>,
    /// The reason for which they must need attention.
    pub needs: Option<Need>,
    /// The key after which the part begins; `None` for the first part.
    pub after: Option<String>,
    /// The key of the next part; `None` in the last one.
    pub next: Option<String>,
    /// The devices, by code.
    pub devices: Vec<DeviceRow>,
    /// Whether devices that were not searched yet may match.
    pub is_partial: bool,
    /// Their order, if they are sorted.
    pub sort: Sort,
}

/// A device of the list.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceRow {
    /// The device.
    pub item: DeviceItem,
    /// Its state.
    pub state: DeviceState,
    /// Its orders on each of the last days, today last.
    pub week: Vec<i64>,
}

impl Listed for DeviceRow {
    const COLUMNS: Columns<DeviceRow> = &[
        Some(("device", |device| Value::text(&device.item.device_name))),
        None,
        Some(("state", |device| Value::text(device.state.code()))),
        Some(("active", |device| Value::of(device.item.last_active_timestamp))),
        Some(("orders", |device| Value::Number(device.week.iter().sum()))),
        Some(("stock", |device| Value::Number(device.item.total_curr_stock))),
    ];
}

/// Returns the name of a state, and its tone.
const fn state_text(state: DeviceState) -> (Text, Tone) {
    match state {
        DeviceState::Online => (ONLINE, Tone::Good),
        DeviceState::Silent => (SILENT, Tone::Bad),
        DeviceState::GroupDisabled => (GROUP_DISABLED, Tone::Neutral),
        DeviceState::Disabled => (DISABLED, Tone::Neutral),
    }
}

/// Renders a state as a badge.
pub(crate) fn state_badge(state: DeviceState, frame: &Frame<'_>) -> Markup {
    let (text, tone) = state_text(state);
    badge(tone, frame.say(text))
}

/// Returns the path of a device's page.
pub(crate) fn path_of(code: &str) -> String {
    format!("{}/{}", Section::Devices.path(), encoded(code))
}

/// Renders the list.
pub fn page(frame: &Frame<'_>, view: &Devices) -> String {
    let query = query(view);
    let after = query_of(&[("after", view.after.as_deref().unwrap_or_default())]);
    let body = html! {
        (filter(frame, Section::Devices.path(), &fields(frame, view)))
        @if view.devices.is_empty() { (empty(frame.say(NONE_FOUND))) }
        @else { (rows(frame, view)) }
        @if view.is_partial { p.note { (frame.say(MORE)) } }
        (pager(frame, &query, view.after.as_deref(), view.next.as_deref()))
    };
    let heading = frame.say(Section::Devices.name());
    frame.render(&Page {
        heading,
        actions: download(frame, &[&query, &view.sort.query(), &after, "format=csv"]),
        content: only_card("devices", heading, &body),
        ..Page::default()
    })
}

/// Returns the filter as a query.
fn query(view: &Devices) -> String {
    let state = view.state.map_or("", DeviceState::code);
    let group = view.groups.chosen.as_deref().unwrap_or_default();
    let needs = view.needs.map_or("", Need::code);
    query_of(&[("q", &view.search), ("state", state), ("needs", needs), ("group", group)])
}

fn fields(frame: &Frame<'_>, view: &Devices) -> Markup {
    let all = frame.say(ALL);
    let state = view.state.map_or("", DeviceState::code);
    let states = DeviceState::ALL.iter();
    let states = states.map(|state| (state.code(), frame.say(state_text(*state).0)));
    let need = view.needs.map_or("", Need::code);
    let needs = Need::ALL.iter().map(|need| (need.code(), frame.say(need_name(*need))));
    html! {
        (text_field("search", "q", frame.say(SEARCH), &view.search))
        (choice("state", frame.say(STATE), all, states, state))
        (choice("needs", frame.say(NEEDS_ATTENTION), all, needs, need))
        (view.groups.field(frame))
    }
}

fn rows(frame: &Frame<'_>, view: &Devices) -> Markup {
    let columns = columns(frame, &[DEVICE, GROUP, STATE, LAST_ACTIVE, WEEK], &[STOCK]);
    let columns = view.sort.columns::<DeviceRow>(frame, columns);
    table(
        frame.say(Section::Devices.name()),
        &columns,
        view.sort.rows(&view.devices),
        |DeviceRow { item, state, week }| {
            html! {
                th scope="row" {
                    a href=(path_of(&item.device_code)) { (item.device_name) }
                    " " span.note.code { (item.device_code) }
                }
                td { (view.groups.name_of(&item.group_id)) }
                td { (state_badge(*state, frame)) }
                td { (ago(frame, item.last_active_timestamp.map(UnixMs))) }
                td {
                    (spark(frame, week, WEEK_SUMMARY)) " "
                    span.note { (format::count(week.iter().sum::<i64>())) }
                }
                td.number { (format::count(item.total_curr_stock)) }
            }
        },
    )
}

/// Returns the devices of a list as CSV.
pub fn csv(view: &Devices) -> String {
    let columns: [csv::Column<&DeviceRow>; 7] = [
        ("device_code", |row| row.item.device_code.clone()),
        ("device_name", |row| row.item.device_name.clone()),
        ("group_id", |row| row.item.group_id.clone()),
        ("state", |row| row.state.code().to_owned()),
        ("last_active", |row| csv::time(row.item.last_active_timestamp.map(UnixMs))),
        ("orders_7d", |row| row.week.iter().sum::<i64>().to_string()),
        ("stock", |row| row.item.total_curr_stock.to_string()),
    ];
    let more = view.next.is_some().then_some(csv::MORE_ROWS);
    csv::table(&columns, view.sort.rows(&view.devices), more)
}
