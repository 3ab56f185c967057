//! The text that a demo prints: its addresses, accounts and groups, and calls to paste.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::time::Duration;

use kiosque_model::OperatorKey;

use super::data::{Account, DATA};
use super::flags::Time;
use super::fleet::FIRST_DEVICE;
use super::kiosks::kiosks;
use crate::output::shell_quoted;

/// The addresses and the key of a running demo.
pub(super) struct Introduction {
    /// The base URL of the integrators' listener, without a path.
    pub(super) gateway: String,
    /// The base URL of the operator's listener.
    pub(super) operator: String,
    /// The file of the certificate, absolute.
    pub(super) certificate: PathBuf,
    /// The directory of the data, absolute.
    pub(super) directory: PathBuf,
    /// The key for the operator's calls, in plain text: the data is fictitious.
    pub(super) key: OperatorKey,
    /// The one-time link that signs in to the console; `None` if the clock is fast, which ends it
    /// too soon.
    pub(super) console_link: Option<String>,
    /// The interval of new orders; `None` if the kiosks are silent.
    pub(super) interval: Option<Duration>,
    pub(super) time: Time,
    /// The injected faults of answers to integrators.
    pub(super) faults: Option<String>,
}

impl Display for Introduction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.places(f)?;
        self.calls(f)?;
        self.hints(f)
    }
}

impl Introduction {
    fn places(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(link) = &self.console_link {
            writeln!(f, "console    {link}")?;
            writeln!(
                f,
                "           (works once, within a minute; later sign in with the key below)"
            )?;
        } else {
            writeln!(f, "console    {}/console/  (sign in with the key below)", self.operator)?;
        }
        writeln!(f, "base URL   {}/v8", self.gateway)?;
        let first = &DATA.accounts[0];
        let password = &DATA.password;
        writeln!(f, "account    {}  password {password}", first.login_name)?;
        writeln!(f, "           ({})", first.shows)?;
        for Account { login_name, shows, .. } in &DATA.accounts[1..] {
            writeln!(f, "also       {login_name}  password {password}  ({shows})")?;
        }
        for site in &DATA.sites {
            let (group, name, prefix) = (&site.group, &site.name, &site.prefix);
            let kiosks = site.kiosks.len();
            let currency = site.range().currency();
            let state = site.closed_weeks_ago.map_or("", |_| ", deactivated");
            writeln!(
                f,
                "group      {group:15}  {name}: kiosks {prefix}-001 to {prefix}-{kiosks:03}, \
                 {currency}{state}"
            )?;
        }
        writeln!(f, "operator   {}/operator/v1", self.operator)?;
        writeln!(f, "key        {}  (all rights, until the next demo)", self.key.reveal())?;
        writeln!(f, "data       {}", self.directory.display())?;
        if let Some(faults) = &self.faults {
            writeln!(f, "faults     {faults}: such answers have the header kiosque-fault")?;
        }
        if let Time::Virtual(start, speed) = self.time {
            writeln!(f, "clock      began at {}, {speed} times as fast", start.rfc3339())?;
        }
        match self.interval {
            None => writeln!(f, "kiosks     silent: no heartbeats and no new orders"),
            Some(interval) => {
                let all = kiosks();
                let online = all.iter().filter(|kiosk| kiosk.is_online()).count();
                writeln!(
                    f,
                    "kiosks     {online} of {} send heartbeats, and one of them an order every \
                     {} s; --quiet turns both off",
                    all.len(),
                    interval.as_secs_f64()
                )
            }
        }
    }

    fn calls(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let first = &DATA.accounts[0];
        write!(
            f,
            r#"
# paste these
BASE={gateway}/v8
CERT={cert}
API=third-center-web/openapi/v1
call() {{
  curl --silent --show-error --cacert "$CERT" -H 'Content-Type: application/json' \
    -H "third-api-token: $TOKEN" "$BASE/$1" -d "$2"; echo
}}
TOKEN=$(call platform-auth/auth/third-api/token \
  '{{"username":"{login}","password":"{password}"}}' |
  sed 's/.*"accessToken":"\([^"]*\)".*/\1/')
call "$API/kioskDevice/devicePage?current=1&size=2" '{{}}'
call "$API/kioskOrder/queryOrderList?current=1&size=1" '{{"deviceCode":"{device}"}}'
call "$API/kioskDashboard/summary" '{{}}'

# and as the operator
OPERATOR={operator}
KEY={key}
operate() {{
  local path=$1; shift
  curl --silent --show-error --cacert "$CERT" -H "Authorization: Bearer $KEY" "$OPERATOR/$path" "$@"
  echo
}}
operate operator/v1/status
"#,
            gateway = self.gateway,
            cert = shell_quoted(&self.certificate),
            login = first.login_name,
            password = DATA.password,
            device = FIRST_DEVICE,
            operator = self.operator,
            key = self.key.reveal(),
        )
    }

    fn hints(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let directory = shell_quoted(&self.directory);
        write!(
            f,
            r#"
# try next
#   call "$API/kioskDashboard/onlineDevices" '{{}}'
#   call platform-auth/auth/third-api/switchGroup '{{"groupId":"tokyo-stations"}}'
#   the same calls as campus, office, former or newcomer
#   operate operator/v1/audit
#   operate operator/v1/activity -d '{{"deviceCode":"HBR-011"}}'
#   operate metrics
#   kiosque status --data {directory}
#   kiosque device show {FIRST_DEVICE} --data {directory}
# Ctrl-C stops the demo
"#
        )
    }
}
