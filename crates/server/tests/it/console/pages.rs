//! The pages: rights, headers, and what they show.

use std::time::Duration;

use http::Method;
use kiosque_contract::AuditDetails;
use kiosque_contract::inventory::LastBackup;
use kiosque_model::ActedBy;
use kiosque_model::audit::AuditEvent;
use kiosque_store::Act;
use kiosque_testkit::{TOKEN_PATH, TestRequest, TestServer, between, card};
use serde_json::json;

use super::{Browser, Cause, SIGN_IN, behind_proxy, revoke, signed_in_with, trail};
use crate::operator::fleet;

#[tokio::test]
async fn the_headers_of_all_answers_are_strict() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key_named("office", "read").await;
    let mut browser = Browser::new(&server).await;
    let form = browser.get(SIGN_IN).await;
    insta::assert_snapshot!("sign_in", form.head());
    let signed_in = browser.post(SIGN_IN, &[("key", &key)]).await;
    insta::assert_snapshot!("signed_in", signed_in.head());
    insta::assert_snapshot!("page", browser.get("/console/service").await.head());
    let style = form.text.split("href=\"").find(|part| part.starts_with("/console/assets/console"));
    let style = style.unwrap().split('"').next().unwrap().to_owned();
    let asset = Browser::new(&server).await.get(&style).await;
    insta::assert_snapshot!("asset", asset.head());
    assert!(asset.text.contains("color"), "{}", asset.text);
    let absent = browser.get("/console/assets/console-0000000000000000.css").await;
    assert_eq!(absent.status, 404);
}

#[tokio::test]
async fn unknown_pages_and_methods_are_refused_in_the_frame() {
    let (_server, mut browser) = signed_in_with(fleet(), "read").await;
    let absent = browser.get("/console/nothing").await;
    assert_eq!(absent.status, 404);
    assert!(absent.text.contains("/console/logout"), "{}", absent.text);
    for entry in ["integrators/account?name=absent", "devices/D9", "orders/g1/o9", "orders/g9/o1"] {
        let absent = browser.get(&format!("/console/{entry}")).await;
        assert_eq!(absent.status, 404, "{entry}");
        assert!(absent.text.contains("/console/logout"), "{entry}: {}", absent.text);
    }
    for absent in ["nothing", "devices/D9", "api/operator/a/b"] {
        let posted = browser.post(&format!("/console/{absent}"), &[]).await;
        assert_eq!(posted.status, 404, "{absent}");
    }
    let posted = browser.post("/console/service", &[]).await;
    assert_eq!((posted.status, posted.headers["allow"].as_str()), (405, "GET, HEAD"));
    let got = browser.get("/console/logout").await;
    assert_eq!((got.status, got.headers["allow"].as_str()), (405, "POST"));
    let put = browser.ask(Method::PUT, "/console/service", Cause::Console, "").await;
    assert_eq!((put.status, put.headers["allow"].as_str()), (405, "GET, HEAD, POST"));
    let head = browser.ask(Method::HEAD, "/console/service", Cause::Console, "").await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}

/// A key without the right gets 403, and no link to the page.
#[tokio::test]
async fn rights_decide_what_is_shown() {
    let server = TestServer::start(fleet()).await;
    let pages = [
        ("/console/audit", "audit"),
        ("/console/keys", "keys"),
        ("/console/service", "read"),
        ("/console/integrators", "read"),
        ("/console/api", "read"),
        ("/console/intake", "read"),
        ("/console/integrators/account?name=ops", "read"),
    ];
    for may in ["read", "audit", "keys", "orders,activity,fleet"] {
        let key = server.create_key(may).await;
        let mut browser = Browser::signed_in(&server, &key).await;
        for (path, right) in pages {
            let reply = browser.get(path).await;
            let is_permitted = may == right;
            assert_eq!(reply.status, if is_permitted { 200 } else { 403 }, "{may}: {path}");
            // A key that has the right of no page is led to the overview, which says so.
            let home = match may {
                "audit" | "keys" => format!("/console/{may}"),
                _ => "/console/".to_owned(),
            };
            let brand = format!("<a class=\"brand\" href=\"{home}\">");
            assert!(reply.text.contains(&brand), "{may}: {path}: {}", reply.text);
            for (other, right) in &pages[..5] {
                let has_link = reply.text.contains(&format!("href=\"{other}\""));
                assert_eq!(has_link, may == *right, "{may}: {path} links to {other}");
            }
        }
        let create = [("action", "create"), ("name", "mine"), ("may", may)];
        let created = browser.post("/console/keys", &create).await;
        assert_eq!(created.status, if may == "keys" { 200 } else { 403 }, "{may}");
    }
}

#[tokio::test]
async fn a_key_is_created_with_rights_of_its_creator_shown_once_and_revoked() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key_named("lead", "read,keys").await;
    let mut browser = Browser::signed_in(&server, &key).await;
    let create = [("action", "create"), ("name", "reader"), ("may", "read")];
    let shown = browser.post("/console/keys", &create).await;
    let new = shown.text.split("kqo_").nth(1).unwrap();
    let new = format!("kqo_{}", new.split('<').next().unwrap());
    assert_eq!(new.len(), 47);
    assert!(!shown.headers.contains_key("content-encoding"), "a secret is not compressed");
    assert!(!browser.get("/console/keys").await.text.contains("kqo_"), "shown once");
    let mut reader = Browser::signed_in(&server, &new).await;
    assert_eq!(reader.get("/console/service").await.status, 200);

    let again = browser.post("/console/keys", &create).await;
    assert!(!again.text.contains("kqo_") && again.text.contains("role=\"alert\""));
    let more = [("action", "create"), ("name", "more"), ("may", "fleet")];
    let refused = browser.post("/console/keys", &more).await;
    assert!(!refused.text.contains("kqo_") && refused.text.contains("role=\"alert\""));
    for wrong in [
        vec![("action", "create"), ("name", "none")],
        vec![("action", "create"), ("name", ""), ("may", "read")],
        vec![("action", "revoke"), ("name", "unknown")],
    ] {
        let reply = browser.post("/console/keys", &wrong).await;
        assert_eq!(reply.status, 200);
        assert!(reply.text.contains("role=\"alert\""), "{wrong:?}");
    }
    let revoke = [("action", "revoke"), ("name", "reader")];
    assert!(browser.post("/console/keys", &revoke).await.text.contains("role=\"status\""));
    assert_eq!(reader.get("/console/service").await.status, 303);
    assert_eq!(
        trail(&server, "key").await,
        [
            "keyCreated|command||lead: read,keys|1",
            "keyCreated|key lead|127.0.0.1|reader: read|1",
            "keyRevoked|key lead|127.0.0.1|reader|1",
        ]
    );
}

/// The form of a row revokes exactly its key. Spaces around a new name are not a part of it.
#[tokio::test]
async fn a_key_whose_name_ends_with_a_space_is_revoked_by_its_own_form() {
    let server = TestServer::start(fleet()).await;
    for name in ["tills", "tills "] {
        server.create_key_named(name, "orders").await;
        server.advance(Duration::from_secs(1));
    }
    let lead = server.create_key_named("lead", "orders,keys").await;
    let mut browser = Browser::signed_in(&server, &lead).await;
    let page = browser.get("/console/keys").await.text;
    let names = between(card(&page, "keys"), "name=\"name\" value=\"", "\"");
    assert_eq!(names, ["lead", "tills ", "tills"]);
    let revoke = [("action", "revoke"), ("name", names[1])];
    let page = browser.post("/console/keys", &revoke).await.text;
    let notices = between(&page, "<p class=\"notice\" role=\"", "</p>");
    assert_eq!(notices, ["status\">The key tills  is revoked."]);
    let create = [("action", "create"), ("name", " till 2\t"), ("may", "orders")];
    browser.post("/console/keys", &create).await;
    assert_eq!(
        trail(&server, "key").await[3..],
        [
            "keyRevoked|key lead|127.0.0.1|tills |1",
            "keyCreated|key lead|127.0.0.1|till 2: orders|1",
        ]
    );
}

/// A form that creates no key keeps what was entered in it.
#[tokio::test]
async fn the_form_of_a_refused_key_keeps_its_name_and_rights() {
    let server = TestServer::start(fleet()).await;
    let key = server.create_key_named("lead", "read,keys").await;
    let mut browser = Browser::signed_in(&server, &key).await;
    let long = "x".repeat(65);
    for (name, rights, shown, checked) in [
        ("lead", &["read"][..], "lead", [" checked", ""]),
        (long.as_str(), &["keys", "read"], long.as_str(), [" checked", " checked"]),
        ("new", &[], "new", ["", ""]),
        ("new", &["fleet", "keys"], "new", ["", " checked"]),
        ("new", &["read"], "", ["", ""]),
    ] {
        let mut form = vec![("action", "create"), ("name", name)];
        form.extend(rights.iter().map(|right| ("may", *right)));
        let page = browser.post("/console/keys", &form).await.text;
        let expected = [
            "type=\"hidden\" name=\"action\" value=\"create\"".to_owned(),
            format!(
                "type=\"text\" name=\"name\" value=\"{shown}\" required maxlength=\"64\" \
                 autocomplete=\"off\""
            ),
            format!("type=\"checkbox\" name=\"may\" value=\"read\"{}", checked[0]),
            format!("type=\"checkbox\" name=\"may\" value=\"keys\"{}", checked[1]),
        ];
        assert_eq!(between(card(&page, "create"), "<input ", ">"), expected, "{form:?}");
    }
}

#[tokio::test]
async fn the_trail_is_filtered_and_downloaded() {
    let server = TestServer::start(fleet()).await;
    server.log_in("ops").await;
    server.log_in("ops").await;
    let mut browser = Browser::with_rights(&server, "audit,read").await;
    let all = browser.get("/console/audit").await.text;
    for text in ["Fleet applied", "Session replaced", "key office", "127.0.0.1"] {
        assert!(all.contains(text), "{text}: {all}");
    }
    let csv = browser.get("/console/audit?event=sessionReplaced&account=ops&format=csv").await;
    assert_eq!(csv.headers["content-disposition"], "attachment; filename=\"audit.csv\"");
    let lines: Vec<&str> = csv.text.lines().collect();
    assert_eq!(lines.len(), 2, "{}", csv.text);
    assert!(lines[1].contains(",sessionReplaced,ops,,127.0.0.1,"), "{}", csv.text);
    // Times are UTC also in the details.
    let detail = "replaced the session opened 2026-03-02T10:00:00.000Z from 127.0.0.1";
    assert!(lines[1].contains(detail), "{}", csv.text);
    let none = browser.get("/console/audit?account=unknown&since=2026-01-01").await;
    assert!(none.text.contains("No entry matches"), "{}", none.text);
    for bad in ["event=x", "source=x", "since=x", "after=x", "until=2026-01-01"] {
        assert_eq!(browser.get(&format!("/console/audit?{bad}")).await.status, 400, "{bad}");
    }
    // The history of an account names the session that was replaced, and the one that replaced it.
    let history = browser.get("/console/integrators/account?name=ops").await.text;
    assert!(history.contains("replaced the session opened"), "{history}");
    let accounts = browser.get("/console/integrators").await.text;
    assert!(accounts.contains("since 2026-03-02 10:00:00"), "{accounts}");
}

/// A source that is not an address, and a time that does not exist, are shown again with the other
/// filters. A time is in a field that can show it.
#[tokio::test]
async fn a_filter_that_cannot_be_used_is_shown_with_the_others() {
    let (_server, mut browser) = signed_in_with(fleet(), "audit").await;
    let no_address = "“192.168.1” is not an address. Enter a whole one, such as 192.0.2.7 or \
                      2001:db8::7.";
    let no_time = "“2026-13-01” is neither a date, such as 2026-03-01, nor a time, such as \
                   2026-03-01 09:30:00.";
    for (source, since, kind, alert) in [
        ("", "", "date", None),
        ("127.0.0.1", "2026-03-01", "date", None),
        ("127.0.0.1", "2026-03-01 09:30:00", "text", None),
        ("192.168.1", "2026-03-01", "date", Some(no_address)),
        ("127.0.0.1", "2026-13-01", "text", Some(no_time)),
        ("192.168.1", "2026-13-01", "text", Some(no_address)),
    ] {
        let query = format!("account=demo&event=login&source={source}&since={since}");
        let address = format!("/console/audit?{}", query.replace(' ', "+"));
        let page = browser.get(&address).await;
        assert_eq!(page.status, if alert.is_some() { 400 } else { 200 }, "{query}");
        let fields = [("search", "account", "demo"), ("search", "source", source)];
        let fields = [&fields[..], &[(kind, "since", since)]].concat();
        let expected = fields.iter().map(|(kind, name, value)| {
            format!("type=\"{kind}\" name=\"{name}\" value=\"{value}\" autocomplete=\"off\"")
        });
        let form = between(&page.text, "<form class=\"filter\" ", "</form>")[0];
        assert_eq!(between(form, "<input ", ">"), expected.collect::<Vec<_>>(), "{query}");
        assert!(form.contains("<option value=\"login\" selected>"), "{form}");
        let alerts = between(&page.text, "<p class=\"notice\" role=\"alert\">", "</p>");
        assert_eq!(alerts, alert.into_iter().collect::<Vec<_>>(), "{query}");
        for part in ["id=\"entries\"", "format=csv"] {
            assert_eq!(page.text.contains(part), alert.is_none(), "{query}: {part}");
        }
        let file = browser.get(&format!("{address}&format=csv")).await;
        assert_eq!(file.status, page.status, "{query}");
    }
}

/// An import has its file, and a fleet the kinds that changed, in the language of the page.
#[tokio::test]
async fn changes_are_shown_with_their_file_and_without_zeros() {
    let server = TestServer::start(fleet()).await;
    let counts = [("accepted", 3), ("updated", 0), ("unchanged", 1), ("rejected", 2)];
    let details: serde_json::Map<_, _> =
        counts.into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect();
    let mut details: AuditDetails = serde_json::from_value(details.into()).unwrap();
    details.file = Some("/srv/march.csv".to_owned());
    let act = Act::new(AuditEvent::OrdersImported, details);
    server.store.trail().record_act(act, ActedBy::command(server.now())).await.unwrap();
    server.apply("[[group]]\nid = \"g2\"\nname = \"Two\"\n").await.unwrap();
    let mut browser = Browser::with_rights(&server, "audit").await;
    let first = "groups: 2 created, 0 changed; accounts: 1 created, 0 changed; products: 1 \
                 created, 0 changed; devices: 2 created, 0 changed";
    let import = "3 accepted, 0 updated, 1 unchanged, 2 rejected, file /srv/march.csv";
    let page = browser.get("/console/audit").await.text;
    for detail in ["nothing changed", first, import] {
        assert!(page.contains(&format!("<td class=\"long\">{detail}</td>")), "{detail}: {page}");
    }
    browser.headers.push(("accept-language", "zh-CN".to_owned()));
    let page = browser.get("/console/audit").await.text;
    for detail in ["没有变更", "设备：新建 2，更改 0", "被拒 2, 文件 /srv/march.csv"]
    {
        assert!(page.contains(detail), "{detail}: {page}");
    }
}

/// Keys, the service and the history of an account are downloaded as they are shown.
#[tokio::test]
async fn what_a_page_shows_is_downloaded() {
    let server = TestServer::start(fleet()).await;
    let office = server.create_key_named("office", "read,audit,keys").await;
    server.create_key_named("=gone", "orders").await;
    server.advance(Duration::from_secs(60));
    revoke(&server, "=gone").await;
    server.log_in("ops").await;
    let mut browser = Browser::signed_in(&server, &office).await;
    let (_, keys) = download(&mut browser, "/console/keys?format=csv", "keys").await;
    let expected = [
        "name,rights,created,last_use,revoked",
        "office,\"audit,read,keys\",2026-03-02T10:00:00.000Z,2026-03-02T10:01:00.000Z,",
        "'=gone,orders,2026-03-02T10:00:00.000Z,,2026-03-02T10:01:00.000Z",
    ];
    assert_eq!(keys.lines().collect::<Vec<_>>(), expected);

    let (page, service) = download(&mut browser, "/console/service?format=csv", "service").await;
    let names_of = |part: &str| {
        let rows = service.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let rows = rows.filter(|row| row[0] == part).map(|row| row[1].to_owned());
        rows.collect::<Vec<String>>()
    };
    for part in ["program", "content"] {
        assert_eq!(names_of(part), between(card(&page, part), "<dt>", "</dt>"), "{service}");
    }
    assert_eq!(names_of("limits"), between(card(&page, "limits"), "<code>", "</code>"));
    assert_eq!(names_of("checks").len(), card(&page, "checks").matches("<li>").count());
    for row in [
        "part,name,value,most,remedy",
        "checks,Orders are stored,ok,,",
        "checks,No exchange rates are needed: there are no orders,ok,,",
        "content,Devices,2,,",
        "limits,ingest_streams_max,0,64,",
    ] {
        assert!(service.lines().any(|line| line == row), "{row}: {service}");
    }

    // Of this server: the memory where it is known, and of files the space that is left.
    assert!(service.contains("program,Uptime,\"0 d 0 h 1 min, since 2026-03-02 10:00:00\","));
    assert!(service.contains("program,Names of the certificate,"), "{service}");
    assert!(service.contains("program,Resident memory,"), "{service}");
    assert_eq!(
        service.contains("program,Free on its file system,"),
        server.store.engine().is_file()
    );

    let path = "/console/integrators/account?name=ops";
    let (_, history) = download(&mut browser, &format!("{path}&format=csv"), "account").await;
    let entries: Vec<&str> = history.lines().skip(1).collect();
    assert_eq!(entries.len(), 1, "{history}");
    assert!(entries[0].contains(",2026-03-02T10:01:00.000Z,login,ops,,127.0.0.1,"), "{history}");
    // The history is a part of the audit trail.
    let reader = server.create_key_named("reader", "read").await;
    let mut browser = Browser::signed_in(&server, &reader).await;
    assert!(!browser.get(path).await.text.contains("format=csv"));
    assert_eq!(browser.get(&format!("{path}&format=csv")).await.status, 403);
}

/// Downloads what a page shows by its link. Returns the page and the file.
async fn download(browser: &mut Browser, path: &str, name: &str) -> (String, String) {
    let page = browser.get(path.trim_end_matches("format=csv").trim_end_matches(['?', '&'])).await;
    let link = format!("href=\"{}\" download", path.replace('&', "&amp;"));
    assert!(page.text.contains(&link), "{path}: {}", page.text);
    let file = browser.get(path).await;
    assert_eq!(file.headers["content-disposition"], format!("attachment; filename=\"{name}.csv\""));
    assert_eq!(browser.get(&path.replace("=csv", "=json")).await.status, 400, "{path}");
    (page.text, file.text)
}

/// The page of an account has the session that ended and the one that replaced it, each with its
/// address and time, as soon as the login is answered. An open page renews itself every 2 s.
#[tokio::test]
async fn a_replaced_session_is_shown_with_both_addresses() {
    let server = TestServer::start_with(fleet(), behind_proxy).await;
    let mut browser = Browser::with_rights(&server, "read,audit").await;
    for source in ["192.0.2.1", "192.0.2.2"] {
        let login = r#"{"username":"ops","password":"secret"}"#;
        let login = TestRequest::to(TOKEN_PATH).body(login).header("x-forwarded-for", source);
        assert_eq!(login.send(&server).await.code(), 200);
        server.advance(Duration::from_secs(5));
    }
    let page = browser.get("/console/integrators/account?name=ops").await.text;
    let rows = between(card(&page, "timeline"), "<tr>", "</tr>");
    let replaced = rows.iter().find(|row| row.contains("Login, replaced a session")).expect(&page);
    assert!(replaced.contains("2026-03-02 10:00:05") && replaced.contains("<td>192.0.2.2</td>"));
    assert_eq!(rows.len(), 2 + 1, "the heading, the login and the one before: {rows:?}");
    let earlier = "replaced the session opened 2026-03-02 10:00:00 from 192.0.2.1";
    assert!(replaced.contains(earlier), "{replaced}");
    assert!(page.contains("<main id=\"main\" tabindex=\"-1\" data-refresh=\"2\">"), "{page}");
    let csv = browser.get("/console/integrators?format=csv").await;
    assert_eq!(csv.headers["content-disposition"], "attachment; filename=\"accounts.csv\"");
    let row = csv.text.lines().find(|row| row.starts_with("ops,")).expect(&csv.text);
    assert!(row.contains(",true,true,2026-03-02T10:00:05.000Z,192.0.2.2,g1,"), "{row}");
}

/// A device of a deactivated group stays enabled, as `kiosque device list` shows it. It is not
/// silent: device pages do not list it.
#[tokio::test]
async fn devices_of_a_deactivated_group_differ_from_disabled_ones() {
    let closed = "[[group]]\nid = \"g2\"\nname = \"Two\"\nactive = false\n";
    let server =
        TestServer::start(fleet().device("D3", "Attic", "g1").with("enabled = false")).await;
    server.apply(closed).await.unwrap();
    let mut browser = Browser::with_rights(&server, "read").await;
    let badges = |page: &str| {
        let badges = between(card(page, "devices"), "<span class=\"badge", "</span>");
        badges.into_iter().map(|badge| badge.split('>').nth(1).unwrap().to_owned()).collect()
    };
    let all: Vec<String> = badges(&browser.get("/console/devices").await.text);
    assert_eq!(all, ["Silent", "Group deactivated", "Disabled"]);
    let of_closed = browser.get("/console/devices?state=group-disabled&format=csv").await.text;
    assert!(of_closed.contains("\nD2,Platform,g2,group-disabled,"), "{of_closed}");
    for (state, code) in [("silent", "D1"), ("group-disabled", "D2"), ("disabled", "D3")] {
        let page = browser.get(&format!("/console/devices?state={state}")).await.text;
        let codes = between(card(&page, "devices"), "href=\"/console/devices/", "\"");
        assert_eq!(codes, [code], "{state}");
    }
    let overview = browser.get("/console/").await.text;
    assert!(!overview.contains("href=\"/console/devices/D2\""), "{overview}");
    let page = browser.get("/console/devices/D2").await.text;
    assert!(page.contains("Group deactivated") && page.contains("Items in stock"), "{page}");
    browser.headers.push(("accept-language", "zh-CN".to_owned()));
    let all: Vec<String> = badges(&browser.get("/console/devices").await.text);
    assert_eq!(all, ["离线", "分组已停用", "已停用"]);
}

/// Markup in a name is text, and the language is the one that the browser accepts or the person
/// chose.
#[tokio::test]
async fn names_are_text_and_languages_are_chosen() {
    let (_server, mut browser) = signed_in_with(fleet().account("<b>x", &["g1"]), "read").await;
    let page = browser.get("/console/integrators").await.text;
    assert!(page.contains("&lt;b&gt;x") && !page.contains("<b>x"), "{page}");
    assert!(page.contains("<html lang=\"en\""), "{page}");
    browser.headers.push(("accept-language", "zh-CN,zh;q=0.9".to_owned()));
    let page = browser.get("/console/integrators").await.text;
    assert!(page.contains("<html lang=\"zh-CN\""), "{page}");
    let chosen = [("language", "en"), ("return", "/console/integrators")];
    let reply = browser.post("/console/preferences", &chosen).await;
    assert_eq!((reply.status, reply.headers["location"].as_str()), (303, "/console/integrators"));
    let page = browser.get("/console/integrators").await.text;
    assert!(page.contains("<html lang=\"en\""), "{page}");
}

/// What the check of a backup finds is on the page of the service, until a backup is good again.
/// PostgreSQL reports damage by itself.
#[tokio::test]
async fn damage_that_a_backup_has_found_is_among_the_checks() {
    let server = TestServer::start(fleet()).await;
    if !server.store.engine().is_file() {
        return;
    }
    let mut browser = Browser::with_rights(&server, "read").await;
    let check = |page: &str| between(card(page, "checks"), "<li>", "</li>")[0].to_owned();
    server.store.upkeep().record_damage("row 7 is <missing>".to_owned()).await.unwrap();
    let failed = check(&browser.get("/console/service").await.text);
    for part in [
        ">failed</span> Requests with a session are answered",
        "kiosque.db is damaged (row 7 is &lt;missing&gt;); ",
        "restore a backup with `kiosque restore FILE --data ",
    ] {
        assert!(failed.contains(part), "{part}: {failed}");
    }
    let file = "monday.db".to_owned();
    let backup = LastBackup { timestamp: server.now().0, file, bytes: 1, orders: 0 };
    server.store.upkeep().record_backup(&backup).await.unwrap();
    let good = check(&browser.get("/console/service").await.text);
    assert!(good.ends_with(">ok</span> Requests with a session are answered"), "{good}");
}
