//! The log: its settings, and its start.

use std::io::{self, IsTerminal};

use kiosque_model::setting::SettingValue;
use tracing_subscriber::EnvFilter;

/// The levels of a filter.
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// The filter of the log: levels, also by module.
#[derive(Clone, Debug)]
pub(crate) struct LogFilter(String);

impl Default for LogFilter {
    fn default() -> LogFilter {
        LogFilter("info".to_owned())
    }
}

impl LogFilter {
    /// Returns the compiled filter. Clients can make `h2` warn as often as they like, so it logs
    /// only if the filter names it. Modules that the filter does not name log from `info` on.
    fn compiled(&self) -> Result<EnvFilter, String> {
        let LogFilter(text) = self;
        let filter = if text.is_empty() { String::new() } else { format!("h2=off,info,{text}") };
        filter.parse().map_err(|_| format!("{text:?} is not a log filter; {EXPECTED}"))
    }
}

/// What a filter may be, for messages.
const EXPECTED: &str = "expected error, warn, info, debug, trace or off, or MODULE=LEVEL such as \
    kiosque_server=debug, separated by commas";

impl SettingValue for LogFilter {
    const PLACEHOLDER: &'static str = "FILTER";

    fn parse(text: &str) -> Result<Self, String> {
        // A filter by span has commas and equal signs of its own.
        if !text.is_empty() && !text.contains('[') {
            text.split(',').try_for_each(check)?;
        }
        let filter = LogFilter(text.to_owned());
        filter.compiled().map(|_| filter)
    }

    fn show(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

/// Checks a part of a filter. A word that is no level would be taken for a module that logs
/// nothing.
fn check(part: &str) -> Result<(), String> {
    let level = match part.split_once('=') {
        Some((_, level)) => level,
        // A module of this program, at every level.
        None if part.starts_with("kiosque") => return Ok(()),
        None => part,
    };
    let is_level = LEVELS.iter().any(|known| level.eq_ignore_ascii_case(known));
    // Numbers are levels, too: 0 is off and 5 is trace.
    match is_level || matches!(level.as_bytes(), [b'0'..=b'5']) {
        true => Ok(()),
        false => Err(format!("{level:?} is not a level; {EXPECTED}")),
    }
}

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// A JSON object a line, for programs.
    Json,
}

impl SettingValue for LogFormat {
    const PLACEHOLDER: &'static str = "FORMAT";

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            _ => Err(format!("{text:?} is not a format of the log; expected text or json")),
        }
    }

    fn show(&self) -> Option<String> {
        Some(if *self == LogFormat::Json { "json" } else { "text" }.to_owned())
    }
}

/// Starts the log, on stderr.
///
/// # Errors
/// The filter is not valid.
pub(crate) fn start(filter: &LogFilter, format: LogFormat) -> Result<(), String> {
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter.compiled()?)
        .with_writer(io::stderr)
        .with_target(false);
    match format {
        LogFormat::Text => log.with_ansi(io::stderr().is_terminal()).init(),
        LogFormat::Json => log.with_ansi(false).json().flatten_event(true).init(),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no panic").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the lines that pass a filter.
    fn logged(filter: &str) -> String {
        let filter = LogFilter::parse(filter).and_then(|it| it.compiled()).expect("a filter");
        let lines = Lines::default();
        let sink = lines.clone();
        let log = tracing_subscriber::fmt().with_env_filter(filter);
        tracing::subscriber::with_default(log.with_writer(move || sink.clone()).finish(), || {
            tracing::warn!(target: "h2::proto::streams", "noise");
            tracing::debug!(target: "kiosque_server::call", "request");
            tracing::warn!("kept");
        });
        String::from_utf8_lossy(&lines.0.lock().expect("no panic")).into_owned()
    }

    #[test]
    fn warnings_of_h2_are_logged_only_on_request() {
        for (filter, is_logged) in [("info", false), ("debug", false), ("info,h2=warn", true)] {
            let logged = logged(filter);
            assert_eq!(logged.contains("noise"), is_logged, "{filter}: {logged}");
            assert!(logged.contains("kept"), "{filter}: {logged}");
        }
    }

    /// A filter by module adds to the log, and warnings of all others remain.
    #[test]
    fn modules_that_are_not_named_log_as_usual() {
        for filter in ["kiosque_server=debug", "kiosque_server", "kiosque_sever=debug"] {
            let logged = logged(filter);
            let is_right = filter.contains("server");
            assert_eq!(logged.contains("request"), is_right, "{filter}: {logged}");
            assert!(logged.contains("kept"), "{filter}: {logged}");
        }
        assert_eq!(logged("error,kiosque_server=error"), "");
    }

    #[test]
    fn a_misspelt_level_is_refused() {
        for filter in ["verbose", "inof", "info,", "info,kiosque_server=debgu", "a=b=c", "6"] {
            let refused = LogFilter::parse(filter).expect_err(filter);
            assert!(refused.contains("expected error, warn, info"), "{filter}: {refused}");
        }
        for filter in ["", "WARN", "off", "0", "info,kiosque_store::db=trace", "[request]=debug"] {
            LogFilter::parse(filter).expect(filter);
        }
    }
}
