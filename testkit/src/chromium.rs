//! Chromium, driven through ChromeDriver by the WebDriver protocol.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::blocking::read_reply;
use crate::reply::Reply;
use crate::wait::{WAIT_MAX, wait_until};

/// Runs its arguments until its standard input ends, which the end of the test process causes too,
/// and then kills its process group. The browser is a member of the group. The output ends with
/// the arguments' process.
const WATCHDOG: &str = "\"$@\" & exec >&-; read -r _; kill -KILL 0";
const DRIVER: &str = "chromedriver";

/// The number of starts after which a ChromeDriver that ends is an error.
const STARTS_MAX: usize = 20;

/// The flags of a browser without a window, which makes no requests by itself. Root has no sandbox.
const FLAGS: [&str; 10] = [
    "--headless=new",
    "--hide-scrollbars",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
];

/// A browser with a separate profile, which ends when this is dropped.
pub struct Chromium {
    watchdog: Child,
    port: u16,
    session: String,
    profile: TempDir,
}

/// The size of the window, in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
    /// The pixels of a screenshot for each pixel of the window.
    pub scale: u32,
}

/// Whether pages may run scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scripts {
    /// They run.
    On,
    /// They do not.
    Off,
}

/// A key that writes no character, with the character that represents it in WebDriver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Moves the focus to the next element.
    Tab = 0xe004,
    /// Sends a form, or follows a link.
    Enter = 0xe007,
    /// Moves to the last point.
    End = 0xe010,
    /// Moves to the first point.
    Home = 0xe011,
    /// Moves to the left.
    Left = 0xe012,
    /// Moves to the right.
    Right = 0xe014,
}

impl Chromium {
    /// Starts a browser that accepts self-signed certificates of servers.
    pub fn start() -> Chromium {
        let found = Command::new(DRIVER).arg("--version").stdout(Stdio::null()).status();
        assert!(found.is_ok(), "{DRIVER} is missing: `cargo xtask test` installs it");
        let profile = TempDir::new().unwrap();
        let (watchdog, port) = start_driver(profile.path());
        let mut chromium = Chromium { watchdog, port, session: String::new(), profile };
        chromium.open_session();
        chromium
    }

    /// Opens a session. ChromeDriver limits the time that a browser takes to start, which a busy
    /// machine may exceed.
    fn open_session(&mut self) {
        let mut flags: Vec<String> = FLAGS.map(str::to_owned).to_vec();
        flags.push(format!("--user-data-dir={}", self.profile.path().join("user").display()));
        let timeout_ms = u64::try_from(WAIT_MAX.as_millis()).unwrap();
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "acceptInsecureCerts": true,
            "timeouts": {"script": timeout_ms, "pageLoad": timeout_ms},
            "goog:chromeOptions": {"args": flags},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}});
        let mut failure = Value::Null;
        wait_until("Chromium starts", || match self.send("POST", "/session", &capabilities) {
            Ok(opened) => {
                opened["sessionId"].as_str().unwrap().clone_into(&mut self.session);
                true
            }
            Err(error) => {
                if error != failure {
                    eprintln!("Chromium does not start: {error}");
                    failure = error;
                }
                false
            }
        });
    }

    /// Opens a page, and returns when it is loaded.
    #[track_caller]
    pub fn open(&mut self, address: &str) {
        self.command("url", &json!({"url": address}));
    }

    /// Returns the result of a script in the page: the body of a function. It also runs in pages
    /// that may not run scripts.
    #[track_caller]
    pub fn run(&mut self, script: &str) -> Value {
        self.command("execute/sync", &script_body(script))
    }

    /// Waits until a script returns `true`. The browser may leave the page meanwhile: a navigation
    /// aborts the script that runs as it begins, and the script runs again in the next page.
    #[track_caller]
    pub fn wait_for(&mut self, script: &str) {
        let path = format!("/session/{}/execute/sync", self.session);
        wait_until(script, || match self.send("POST", &path, &script_body(script)) {
            Ok(value) => value == true,
            Err(error) => {
                eprintln!("{script}: {error}");
                false
            }
        });
    }

    /// Runs the content of a script file in the page, like the browser's developer tools: the
    /// policy of the page does not apply to it.
    #[track_caller]
    pub fn inject(&mut self, script: &str) {
        let ran = self.developer("Runtime.evaluate", &json!({"expression": script}));
        assert!(ran["exceptionDetails"].is_null(), "{}", ran["exceptionDetails"]);
    }

    /// Sets the size of the window, and the colours that the browser prefers: `light` or `dark`.
    #[track_caller]
    pub fn show_as(&mut self, window: Window, colours: &str) {
        let Window { width, height, scale } = window;
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": scale, "mobile": false,
        });
        self.developer("Emulation.setDeviceMetricsOverride", &size);
        let preferred = json!({"name": "prefers-color-scheme", "value": colours});
        self.developer("Emulation.setEmulatedMedia", &json!({"features": [preferred]}));
    }

    /// Sets whether pages that are opened later run scripts.
    #[track_caller]
    pub fn set_scripts(&mut self, scripts: Scripts) {
        let disabled = json!({"value": scripts == Scripts::Off});
        self.developer("Emulation.setScriptExecutionDisabled", &disabled);
    }

    /// Types a text into the focused element.
    #[track_caller]
    pub fn type_text(&mut self, text: &str) {
        for character in text.chars() {
            self.press_code(character);
        }
    }

    /// Presses a key.
    #[track_caller]
    pub fn press(&mut self, key: Key) {
        self.press_code(char::from_u32(key as u32).unwrap());
    }

    #[track_caller]
    fn press_code(&mut self, code: char) {
        let [down, up] = ["keyDown", "keyUp"].map(|kind| json!({"type": kind, "value": code}));
        self.act(&json!({"type": "key", "id": "keyboard", "actions": [down, up]}));
    }

    /// Moves the pointer to a point of the window.
    #[track_caller]
    pub fn point_at(&mut self, x: i64, y: i64) {
        let to = json!({"type": "pointerMove", "duration": 0, "x": x, "y": y});
        self.act(&json!({"type": "pointer", "id": "mouse", "actions": [to]}));
    }

    #[track_caller]
    fn act(&mut self, actions: &Value) {
        self.command("actions", &json!({"actions": [actions]}));
    }

    /// Grants permissions to all pages, such as `clipboardReadWrite`, and denies all others.
    #[track_caller]
    pub fn permit(&mut self, permissions: &[&str]) {
        self.developer("Browser.grantPermissions", &json!({"permissions": permissions}));
    }

    /// Returns the messages of the console since the last call.
    #[track_caller]
    pub fn messages(&mut self) -> Vec<Value> {
        self.log("browser")
    }

    /// Returns the events of the network since the last call: each with its `method`, such as
    /// `Network.requestWillBeSent`, and its `params`.
    #[track_caller]
    pub fn events(&mut self) -> Vec<Value> {
        let entries = self.log("performance").into_iter();
        let event = |entry: Value| -> Value {
            let mut event: Value =
                serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
            event["message"].take()
        };
        entries.map(event).collect()
    }

    #[track_caller]
    fn log(&mut self, kind: &str) -> Vec<Value> {
        let mut log = self.command("se/log", &json!({"type": kind}));
        std::mem::take(log.as_array_mut().unwrap())
    }

    /// Returns a picture of the window, in WebP.
    #[track_caller]
    pub fn picture(&mut self) -> Vec<u8> {
        let format = json!({"format": "webp", "quality": 90});
        let shot = self.developer("Page.captureScreenshot", &format);
        BASE64_STANDARD.decode(shot["data"].as_str().unwrap()).unwrap()
    }

    /// Calls a function of the Chrome DevTools Protocol.
    #[track_caller]
    fn developer(&mut self, function: &str, parameters: &Value) -> Value {
        self.command("goog/cdp/execute", &json!({"cmd": function, "params": parameters}))
    }

    #[track_caller]
    fn command(&mut self, name: &str, body: &Value) -> Value {
        let path = format!("/session/{}/{name}", self.session);
        match self.send("POST", &path, body) {
            Ok(value) => value,
            Err(error) => panic!("{name}: {error}"),
        }
    }

    /// Sends a request to ChromeDriver. Returns the value of the response, or the error in it.
    fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        let reply = self.try_send(method, path, &body.to_string());
        let Reply { status, json, .. } = reply.map_err(|error| Value::from(error.to_string()))?;
        if status == 200 { Ok(json["value"].clone()) } else { Err(json["value"].clone()) }
    }

    fn try_send(&self, method: &str, path: &str, body: &str) -> io::Result<Reply> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(2 * WAIT_MAX))?;
        let (port, length) = (self.port, body.len());
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes())?;
        read_reply(&mut stream, &mut Vec::new(), method)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // A browser that has crashed has no session to end.
        let _ = self.send("DELETE", &format!("/session/{}", self.session), &Value::Null);
        drop(self.watchdog.stdin.take());
        let _ = self.watchdog.wait();
    }
}

fn script_body(script: &str) -> Value {
    json!({"script": script, "args": []})
}

/// Starts ChromeDriver. Returns the process that ends it, and its port. ChromeDriver ends when the
/// port that is free on IPv4 is in use on IPv6.
fn start_driver(profile: &Path) -> (Child, u16) {
    let mut printed = String::new();
    for _ in 0..STARTS_MAX {
        // Files that a killed browser leaves behind are in the profile.
        let mut watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "watchdog", DRIVER, "--port=0"])
            .env("TMPDIR", profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        printed.clear();
        for line in BufReader::new(watchdog.stdout.as_mut().unwrap()).lines() {
            let line = line.unwrap();
            if let Some(port) = port_in(&line) {
                return (watchdog, port);
            }
            printed.push_str(&line);
            printed.push('\n');
        }
        watchdog.wait().unwrap();
    }
    panic!("{DRIVER} ended {STARTS_MAX} times without a port: {printed}");
}

/// Returns the port in a line that ChromeDriver has printed.
fn port_in(line: &str) -> Option<u16> {
    line.split_once("successfully on port ")?.1.strip_suffix('.')?.parse().ok()
}
