//! The service itself: what needs attention, the program and its storage, and the use of the
//! limits.

use kiosque_contract::inventory::{LastBackup, Status};
use kiosque_model::{DAY_MS, Day, UnixMs, size};
use maud::{Markup, Render, html};

use crate::components::{Tone, badge, card, columns, download, facts, table};
use crate::csv;
use crate::format;
use crate::frame::{Frame, Page, Section};
use crate::text::{Text, texts};
use crate::words::{ACCOUNTS, DEVICES, FAILED, GROUPS, LAST_ACTIVE, NONE, ORDERS};

texts! {
    ATTENTION: "Checks", "检查";
    GOOD: "ok", "正常";
    LOOK: "to check", "待查";
    ANSWERS: "Requests with a session are answered", "带会话的请求可应答";
    ANSWERS_DO: "{0}. See the server's log; integrators get code 500 meanwhile.",
        "{0}。请查看服务器日志；集成方目前收到 500。";
    STORES: "Orders are stored", "订单可存储";
    STORES_DO: "{0}. Senders repeat unanswered orders once it is fixed.",
        "{0}。修复后，发送方会重发未得到应答的订单。";
    CERTIFICATE: "Certificate valid until {0}", "证书有效期至 {0}";
    CERTIFICATE_UNKNOWN: "The end of the certificate cannot be read", "无法读取证书的到期时间";
    CERTIFICATE_DO: "Renew it; new files are loaded within seconds.", "请更新证书；新文件会在数秒内加载。";
    BACKUP: "Last backup {0}, {1} orders", "最近备份 {0}，{1} 单";
    NO_BACKUP: "No backup by “kiosque backup”", "尚无“kiosque backup”备份";
    BACKUP_DO: "Run “kiosque backup” every day, and store its file on another machine.",
        "请每天运行“kiosque backup”，并将文件存放到其他机器。";
    RATES: "Latest exchange rates: {0}", "最新汇率日期 {0}";
    NO_RATES: "No exchange rates", "没有汇率";
    RATES_DO: "If there are sales in currencies other than US dollars, import rates with \
        “kiosque import rates”: sums in dollars leave out sales without a rate.",
        "如有美元以外货币的销售，请用“kiosque import rates”导入汇率：美元合计不含没有汇率的销售。";
    RATES_UNNEEDED: "No exchange rates are needed: there are no orders", "没有订单，无需汇率";
    LOG: "Write-ahead log of {0}", "预写日志 {0}";
    LOG_DO: "A long-running read keeps the log from being reused. Look for a running export or \
        backup.", "长时间读取使其无法重用。请查看正在运行的导出或备份。";
    CLOCK_AHEAD: "This node's clock is {0} ms ahead of the database's", "本节点时钟比数据库快 {0} 毫秒";
    CLOCK_BEHIND: "This node's clock is {0} ms behind the database's", "本节点时钟比数据库慢 {0} 毫秒";
    CLOCK_DO: "Synchronize the clock: no session is answered until then.",
        "请同步时钟：在此之前不应答任何会话。";
    DAMAGED: "Requests that failed because of a damaged order: {0}",
        "因订单记录损坏而失败的请求：{0}";
    DAMAGED_DO: "“kiosque verify” lists the damaged orders. Restore a backup from before the \
        damage, and send later orders again; all other orders are served meanwhile.",
        "“kiosque verify”会列出损坏的订单。请恢复损坏之前的备份，并重发之后的订单；其他订单不受影响。";
    PROGRAM: "Program and data", "程序与数据";
    VERSION: "Version", "版本";
    PLACE: "Engine", "存储引擎";
    LAYOUT: "Layout", "数据结构版本";
    ZONE: "Time zone", "时区";
    DATABASE: "Database", "数据库";
    WAL: "Write-ahead log", "预写日志";
    NODES: "Nodes with a lease in the last 30 s", "近 30 秒持有租约的节点";
    RENEWED: "{0}, renewed {1}", "{0}，续租于 {1}";
    FREE: "Free on its file system", "文件系统可用空间";
    MEMORY: "Resident memory", "常驻内存";
    UPTIME: "Uptime", "运行时间";
    UP: "{0} d {1} h {2} min, since {3}", "{0} 天 {1} 小时 {2} 分钟，自 {3} 起";
    NAMES: "Names of the certificate", "证书名称";
    CONTENT: "Stored entries", "已存条目";
    SESSIONS: "Live sessions", "有效会话";
    KEYS: "Active keys", "有效密钥";
    PRODUCTS: "Products", "商品";
    ARCHIVED: "Archived", "已归档";
    LIMITS: "Limits", "限额";
    LIMIT: "Limit", "限额";
    USED: "In use", "已用";
    MOST: "Maximum", "上限";
    SHARE: "Share", "占比";
}

/// The number of days before its end from which a certificate should be renewed.
const CERTIFICATE_DAYS: i64 = 30;
/// The age in days at which a backup is old.
const BACKUP_DAYS: i64 = 2;
/// The size at which the write-ahead log is large, in bytes.
const LOG_BYTES: u64 = 1 << 30;

/// What the checks compare.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// The reason why requests with a session fail, if they do.
    pub not_answering: Option<String>,
    /// The reason why orders cannot be stored, if they cannot.
    pub not_storing: Option<String>,
    /// The end of the certificate, if it can be read.
    pub certificate_end: Option<UnixMs>,
    /// The date of the latest exchange rate.
    pub last_rate: Option<Day>,
    /// Whether there are orders without any rate.
    pub lacks_rates: bool,
    /// The last backup that `kiosque backup` made.
    pub last_backup: Option<LastBackup>,
    /// The size of the write-ahead log; `None` for a database server, which has its own backups.
    pub log_bytes: Option<u64>,
    /// How many milliseconds this node's clock is ahead of the database's, if that is too much.
    pub clock_off_ms: Option<i64>,
    /// The number of requests since the start of the server that needed a damaged order.
    pub damaged_orders: u64,
}

/// The state of a server and of its data.
#[derive(Clone, Debug)]
pub struct Service {
    /// What the checks compare.
    pub conditions: Conditions,
    /// The totals of the data.
    pub status: Status,
    /// The hosts and the name of the database; `None` for files.
    pub database: Option<String>,
    /// The host names and addresses of the certificate.
    pub certificate_names: Vec<String>,
    /// The start of this server.
    pub started: UnixMs,
    /// The memory of this server, if known.
    pub resident_bytes: Option<u64>,
    /// The free bytes of the data's file system; `None` with a database.
    pub free_bytes: Option<u64>,
    /// Limits on concurrent work.
    pub limits: Vec<Limit>,
}

/// A limit and its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The key of the setting, or a name for the limit.
    pub name: &'static str,
    /// How much is in use.
    pub used: u64,
    /// The largest value.
    pub most: u64,
}

/// A check: its result as a sentence, and a remedy if it failed.
struct Check {
    tone: Tone,
    text: String,
    remedy: Option<String>,
}

/// Renders the page.
pub fn page(frame: &Frame<'_>, view: &Service) -> String {
    frame.render(&Page {
        heading: frame.say(Section::Service.name()),
        note: html! {},
        actions: download(frame, &["format=csv"]),
        content: html! {
            (card("checks", frame.say(ATTENTION), "", &checks(frame, &view.conditions)))
            div.grid {
                @for (id, heading, values) in lists(frame, view) {
                    div.span-6 { (card(id, frame.say(heading), "", &listed(frame, &values))) }
                }
            }
            (card("limits", frame.say(LIMITS), "", &limits(frame, view)))
        },
        refresh_s: Some(5),
    })
}

/// Returns everything on the page as CSV: checks with their result and a remedy, values by name,
/// and limits with their use.
pub fn csv(frame: &Frame<'_>, view: &Service) -> String {
    let mut rows = Vec::new();
    for Check { tone, text, remedy } in all_checks(frame, &view.conditions) {
        let result = frame.say(word(tone)).to_owned();
        rows.push(["checks".to_owned(), text, result, String::new(), remedy.unwrap_or_default()]);
    }
    for (part, _, values) in lists(frame, view) {
        for (name, value) in values {
            let name = frame.say(name).to_owned();
            rows.push([part.to_owned(), name, value, String::new(), String::new()]);
        }
    }
    for Limit { name, used, most } in &view.limits {
        let name = (*name).to_owned();
        rows.push(["limits".to_owned(), name, used.to_string(), most.to_string(), String::new()]);
    }
    csv::file(["part", "name", "value", "most", "remedy"], rows)
}

/// Returns the number of checks that are not ok.
pub fn failed_checks(frame: &Frame<'_>, conditions: &Conditions) -> i64 {
    let checks = all_checks(frame, conditions);
    let failed = checks.iter().filter(|check| check.tone != Tone::Good).count();
    i64::try_from(failed).unwrap_or(i64::MAX)
}

const fn word(tone: Tone) -> Text {
    match tone {
        Tone::Good => GOOD,
        Tone::Bad => FAILED,
        Tone::Warning | Tone::Neutral => LOOK,
    }
}

fn checks(frame: &Frame<'_>, conditions: &Conditions) -> Markup {
    html! {
        ul.checks {
            @for check in all_checks(frame, conditions) {
                li {
                    (badge(check.tone, frame.say(word(check.tone)))) " " (check.text)
                    @if let Some(remedy) = check.remedy { p.note { (remedy) } }
                }
            }
        }
    }
}

fn all_checks(frame: &Frame<'_>, conditions: &Conditions) -> Vec<Check> {
    let mut checks = vec![
        failing(frame, ANSWERS, ANSWERS_DO, conditions.not_answering.as_deref()),
        failing(frame, STORES, STORES_DO, conditions.not_storing.as_deref()),
        certificate(frame, conditions),
        rates(frame, conditions),
    ];
    if let Some(bytes) = conditions.log_bytes {
        checks.push(backup(frame, conditions));
        if bytes >= LOG_BYTES {
            let text = LOG.fill(frame.language, &[&size(bytes)]);
            checks.push(warning(frame, text, LOG_DO));
        }
    }
    if conditions.damaged_orders > 0 {
        let text = DAMAGED.fill(frame.language, &[&conditions.damaged_orders.to_string()]);
        checks.push(Check { tone: Tone::Bad, ..warning(frame, text, DAMAGED_DO) });
    }
    if let Some(ahead) = conditions.clock_off_ms {
        let text = if ahead < 0 { CLOCK_BEHIND } else { CLOCK_AHEAD };
        let text = text.fill(frame.language, &[&ahead.unsigned_abs().to_string()]);
        checks.push(Check { tone: Tone::Bad, ..warning(frame, text, CLOCK_DO) });
    }
    checks
}

fn failing(frame: &Frame<'_>, name: Text, remedy: Text, cause: Option<&str>) -> Check {
    let text = frame.say(name).to_owned();
    match cause {
        None => good(text),
        Some(cause) => {
            let remedy = Some(remedy.fill(frame.language, &[cause]));
            Check { tone: Tone::Bad, text, remedy }
        }
    }
}

const fn good(text: String) -> Check {
    Check { tone: Tone::Good, text, remedy: None }
}

fn warning(frame: &Frame<'_>, text: String, remedy: Text) -> Check {
    Check { tone: Tone::Warning, text, remedy: Some(frame.say(remedy).to_owned()) }
}

fn certificate(frame: &Frame<'_>, conditions: &Conditions) -> Check {
    let Some(end) = conditions.certificate_end else {
        return warning(frame, frame.say(CERTIFICATE_UNKNOWN).to_owned(), CERTIFICATE_DO);
    };
    let text = CERTIFICATE.fill(frame.language, &[&frame.zone.text(end)]);
    match end.0.saturating_sub(frame.now.0) {
        ..=0 => Check { tone: Tone::Bad, ..warning(frame, text, CERTIFICATE_DO) },
        left if left < CERTIFICATE_DAYS * DAY_MS => warning(frame, text, CERTIFICATE_DO),
        _ => good(text),
    }
}

fn rates(frame: &Frame<'_>, conditions: &Conditions) -> Check {
    match conditions.last_rate {
        Some(day) => good(RATES.fill(frame.language, &[&day.to_string()])),
        None if conditions.lacks_rates => warning(frame, frame.say(NO_RATES).to_owned(), RATES_DO),
        None => good(frame.say(RATES_UNNEEDED).to_owned()),
    }
}

fn backup(frame: &Frame<'_>, conditions: &Conditions) -> Check {
    let Some(last) = &conditions.last_backup else {
        return warning(frame, frame.say(NO_BACKUP).to_owned(), BACKUP_DO);
    };
    let at = frame.zone.text(UnixMs(last.timestamp));
    let orders = format::count(last.orders);
    let text = BACKUP.fill(frame.language, &[&at, &orders]);
    match frame.now.0.saturating_sub(last.timestamp) > BACKUP_DAYS * DAY_MS {
        true => warning(frame, text, BACKUP_DO),
        false => good(text),
    }
}

/// The id of a list on the page, its heading, and its values by name.
type List = (&'static str, Text, Vec<(Text, String)>);

fn lists(frame: &Frame<'_>, view: &Service) -> [List; 2] {
    [("program", PROGRAM, program(frame, view)), ("content", CONTENT, content(view))]
}

fn listed(frame: &Frame<'_>, values: &[(Text, String)]) -> Markup {
    let rows = values.iter().map(|(name, value)| (frame.say(*name), value.render()));
    facts(&rows.collect::<Vec<_>>())
}

fn program(frame: &Frame<'_>, view: &Service) -> Vec<(Text, String)> {
    let status = &view.status;
    let log = status.log_bytes.map_or_else(|| frame.say(NONE).to_owned(), size);
    let text = |at: i64| frame.zone.text(UnixMs(at));
    let active = status.last_active_timestamp.map(text);
    let place = view.database.as_deref().unwrap_or("SQLite");
    let mut rows = vec![
        (VERSION, format!("kiosque {}", status.version)),
        (PLACE, place.to_owned()),
        (LAYOUT, status.layout.to_string()),
        (ZONE, status.time_zone.clone()),
        (DATABASE, size(status.database_bytes)),
        (WAL, log),
        (UPTIME, uptime(frame, view.started)),
        (LAST_ACTIVE, active.unwrap_or_else(|| frame.say(NONE).to_owned())),
    ];
    rows.extend(view.free_bytes.map(|bytes| (FREE, size(bytes))));
    rows.extend(view.resident_bytes.map(|bytes| (MEMORY, size(bytes))));
    if !view.certificate_names.is_empty() {
        rows.push((NAMES, view.certificate_names.join(", ")));
    }
    if view.database.is_some() {
        let renewed: Vec<String> = status.node_timestamps.iter().copied().map(text).collect();
        let nodes = [&*renewed.len().to_string(), &*renewed.join(", ")];
        rows.push((NODES, RENEWED.fill(frame.language, &nodes)));
    }
    rows
}

fn uptime(frame: &Frame<'_>, started: UnixMs) -> String {
    let minutes = frame.now.0.saturating_sub(started.0).max(0) / 60_000;
    let parts = [minutes / 1_440, minutes / 60 % 24, minutes % 60].map(format::count);
    let [days, hours, minutes] = &parts;
    UP.fill(frame.language, &[days, hours, minutes, &frame.zone.text(started)])
}

fn content(view: &Service) -> Vec<(Text, String)> {
    let status = &view.status;
    let counts = [
        (GROUPS, status.group_count),
        (ACCOUNTS, status.account_count),
        (SESSIONS, status.session_count),
        (KEYS, status.key_count),
        (PRODUCTS, status.product_count),
        (DEVICES, status.device_count),
        (ORDERS, status.order_count),
        (ARCHIVED, status.archived_count),
    ];
    counts.map(|(name, count)| (name, format::count(count))).to_vec()
}

fn limits(frame: &Frame<'_>, view: &Service) -> Markup {
    let columns = columns(frame, &[LIMIT], &[USED, MOST, SHARE]);
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    table(frame.say(LIMITS), &columns, &view.limits, |limit| {
        html! {
            td { code { (limit.name) } }
            td.number { (format::count(limit.used)) }
            td.number { (format::count(limit.most)) }
            td.number { (format::share(number(limit.used), number(limit.most))) }
        }
    })
}
