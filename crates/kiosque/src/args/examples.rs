//! Examples at the end of help texts.

pub(super) mod remote;

/// The end of the help text of the program.
pub(super) const EXAMPLES: &str = "\
Examples:
  kiosque demo                                       serve a demonstration fleet
  kiosque apply fleet.toml --data /srv/kiosque       create groups, accounts, products, devices
  kiosque import orders orders.ndjson --data /srv/kiosque
  kiosque import orders report.csv --map mapping.toml --data /srv/kiosque
  kiosque serve --data /srv/kiosque --listen 0.0.0.0:8443

Every setting is a flag (--token-validity), a variable (KIOSQUE_TOKEN_VALIDITY) and a key of the \
settings file (token_validity). Flags take precedence over variables, and variables over the \
file.";

/// The end of the help text of `kiosque demo`.
pub(super) const DEMO_HELP: &str = "\
Examples:
  kiosque demo
  kiosque demo --listen 127.0.0.1:9443 --data /srv/demo --today 2026-03-31 --quiet
  kiosque demo --fault 'every(7, code500)' --fault 'slow(orders, 800ms)' --seed 7
  kiosque demo --clock 2026-03-31T23:59:50Z --clock-speed 60x --stream 5/s

It serves until Ctrl-C. Most of its kiosks send heartbeats, and every few seconds one of them \
reports an order. A default port that is in use is replaced by a free one.";

/// The end of the help text of `kiosque fault-proxy`.
pub(super) const FAULT_PROXY_HELP: &str = "\
Examples:
  kiosque fault-proxy https://kiosque.example.com/v8 --listen 127.0.0.1:8450 \\
    --fault 'every(7, code500)' --fault 'nth(1, lose-answer)' > proxy.pem
  kiosque fault-proxy https://127.0.0.1:8443/v8 --ca-file cert.pem --listen 127.0.0.1:8450 \\
    --fault 'chance(2%, drop-row)' --seed 7 > proxy.pem

It serves until SIGTERM or Ctrl-C, and keeps no data. Without --tls-cert and --tls-key, a \
self-signed certificate is generated and printed on standard output: configure clients to trust \
it. The same calls in the same order get the same faults; a connection that is closed by a fault \
has no answer.";

/// The end of the help text of `kiosque check`.
pub(super) const CHECK_HELP: &str = "\
Examples:
  kiosque check https://kiosque.example.com/v8 --username acme --password-file acme.password
  kiosque check https://127.0.0.1:8443/v8 --ca-file cert.pem --username demo \\
    --password-file demo.password --extension --yes --report junit=rules.xml
  kiosque check https://kiosque.example.com/v8 --username acme --password-file acme.password \\
    --second-account north --second-password-file north.password --exchanges ./exchanges
  kiosque check --list

It asks for confirmation and logs in, which ends the session of the account; then it makes the \
calls that test each rule of docs/interface.md. For each broken rule it prints `broken`, the \
request, the expected and the actual answer, and a curl command. Some rules need data: at least \
two groups and a device with orders. Others need a second account with another group, whose \
session ends as well. Some send a wrong password. The exit status is 0 if no rule is broken, 1 if \
one is, and 2 if the check could not run or ended early, or a report could not be written.";

/// The end of the help text of `kiosque broker`.
pub(super) const BROKER_HELP: &str = "\
Examples:
  kiosque broker --upstream https://kiosque.example.com/v8 --username acme --password-file acme.pw
  kiosque broker --upstream https://127.0.0.1:8443/v8 --ca-file cert.pem \\
    --username demo --password-file demo.pw --plain-listen 127.0.0.1:8451
  kiosque broker --profile west --status-listen 127.0.0.1:8452
  kiosque broker status

Workers use the broker's base URL, https://127.0.0.1:8450/v8, and log in as they would at the \
server. Each has a separate session; all other calls are sent in one session of the account. On \
SIGTERM and SIGINT the broker finishes open requests, logs the account out and exits.";
