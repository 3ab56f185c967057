//! Examples of `kiosque remote`.

/// The end of the help text of `kiosque remote`.
pub(crate) const REMOTE: &str = "\
Examples:
  kiosque remote login --url https://kiosque.example.com/v8 --username acme --password-file acme.pw
  kiosque remote devices --offline
  kiosque remote orders --all-devices --since 7d --output ndjson > orders.ndjson
  kiosque remote trend --since 30d

All commands of a profile share one session, in the directory kiosque of XDG_RUNTIME_DIR, else of \
XDG_STATE_HOME or ~/.local/state, and wait for each other. Profiles are in kiosque/remote.toml of \
XDG_CONFIG_HOME or ~/.config. The variables KIOSQUE_REMOTE_PROFILE, _URL, _USERNAME, \
_PASSWORD_FILE, _PASSWORD_COMMAND and _CA_FILE replace the fields of a profile. The exit status is \
0, 1 if the server refused the call, 2 if the command line, a profile or a local file is wrong, 3 \
if there is no session, and 4 if no answer of the interface arrived.";

/// The end of the help text of `kiosque remote login`.
pub(crate) const LOGIN: &str = "\
Examples:
  kiosque remote login --url https://kiosque.example.com/v8 --username acme --password-file acme.pw
  kiosque remote login --profile west --url https://127.0.0.1:8443/v8 --ca-file cert.pem \\
    --username demo --password-command 'pass kiosque/demo'

Fields that are not given are taken from the stored profile, so `kiosque remote login` alone \
logs in again. A password is never an argument or a variable. A password that the server refused \
is not sent again until the profile or the file changes, or this command is run.";

/// The end of the help text of `kiosque remote orders`.
pub(crate) const ORDERS: &str = "\
Examples:
  kiosque remote orders --device K-001 --since 7d
  kiosque remote orders --all-devices --latest 20
  kiosque remote orders --all-devices --history --output ndjson > orders.ndjson
  kiosque remote orders --all-devices --output csv > orders.csv

With --latest, the N orders of each device that arrived last are read, and the N with the latest \
start of all are printed. No order is lost or repeated while orders arrive. The number of orders \
of each device, and a digest of them, are printed on standard error. The CSV has the format of \
`kiosque orders export`, and `kiosque orders export --print-mapping` prints its mapping. With \
--watch and ndjson or csv, later rounds print the orders that have arrived since; with --latest, \
all of them again. Add --history if the operator archives meanwhile: a shorter list ends the \
command.";

/// The end of the help text of `kiosque remote changes`.
pub(crate) const CHANGES: &str = "\
Examples:
  kiosque remote changes --group north --output ndjson
  kiosque remote changes --group north --after CURSOR --watch 5s

It ends at the last change, and prints the cursor after it on standard error; with --watch it \
continues. A round requests changes until there are none left, and does not wait at the server, \
since that would keep other commands from the session. A program that needs changes at once uses \
the crate kiosque-client, or a broker.";

/// The end of the help text of `kiosque remote mirror`.
pub(crate) const MIRROR: &str = "\
Examples:
  kiosque remote mirror --into orders.db
  kiosque remote mirror --into orders.db --watch 5s
  sqlite3 orders.db 'select * from orders order by trade_start_ms desc limit 5'

Archived orders are copied, too. When run again, even after it was killed, it copies only the \
changes. docs/integrating.md describes the tables. A run logs in, and ends with a line for each \
group: the orders, sales and amounts in the file, compared with the server's. With --watch they \
are compared every 10 minutes. The exit status is 1 if they differ. A group that the account no \
longer has is kept. After a restore of the server to an earlier state, its orders are read again, \
and those that no longer exist are deleted.";

/// The end of the help text of `kiosque remote call`.
pub(crate) const CALL: &str = "\
Examples:
  kiosque remote call third-center-web/openapi/v1/kioskDevice/devicePage '{\"isOnline\":0}'
  kiosque remote call 'third-center-web/openapi/v1/kioskDevice/devicePage?size=1' @filter.json
  echo '{}' | kiosque remote call third-center-web/openapi/v1/kioskDashboard/summary - --output json

Authentication calls are refused: use `kiosque remote login`, `kiosque remote logout` or --group.";
