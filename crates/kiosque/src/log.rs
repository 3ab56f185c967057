//! The log: its settings, and its start.

use std::io::{self, IsTerminal};
use std::str::FromStr;

use strum::EnumString;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The filter of the log: levels, also by module.
#[derive(Clone, Debug)]
pub(crate) struct LogFilter(Targets);

/// Returns the levels of modules that a filter does not mention. Clients can make `h2` warn as
/// often as they like, so it only logs if the filter mentions it.
fn usual(level: LevelFilter) -> Targets {
    Targets::new().with_default(level).with_target("h2", LevelFilter::OFF)
}

/// The expected form of a filter, for messages.
const EXPECTED: &str = "expected error, warn, info, debug, trace or off, or MODULE=LEVEL such as \
    kiosque_server=debug, separated by commas";

impl FromStr for LogFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<LogFilter, String> {
        if text.is_empty() {
            return Ok(LogFilter(usual(LevelFilter::ERROR)));
        }
        let mut levels = usual(LevelFilter::INFO);
        for part in text.split(',') {
            levels = match directive(part.trim())? {
                (Some(module), level) => levels.with_target(module, level),
                (None, level) => levels.with_default(level),
            };
        }
        Ok(LogFilter(levels))
    }
}

/// Parses a part of a filter: its module, unless it is for all, and its level. A word that is not a
/// level is a module only if it is one of this program; other words are misspelt levels.
fn directive(part: &str) -> Result<(Option<&str>, LevelFilter), String> {
    let (module, level) = match part.split_once('=') {
        Some((module, level)) => (Some(module), level),
        None if part.starts_with("kiosque") => (Some(part), "trace"),
        None => (None, part),
    };
    if module.is_some_and(|module| !is_module(module)) {
        return Err(format!("{part:?} does not begin with a module; {EXPECTED}"));
    }
    // An empty level would be parsed as `error`. Numbers are levels, too: 0 is off and 5 is trace.
    match level.parse() {
        Ok(parsed) if !level.is_empty() => Ok((module, parsed)),
        _ => Err(format!("{level:?} is not a level; {EXPECTED}")),
    }
}

/// Returns whether a text can be the path of a module, such as `kiosque_store::db`, or of a part of
/// one.
fn is_module(text: &str) -> bool {
    let is_of_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '-');
    !text.is_empty() && text.chars().all(is_of_path)
}

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = unknown_format)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// A JSON object a line, for programs.
    Json,
}

fn unknown_format(text: &str) -> String {
    format!("{text:?} is not a format of the log; expected text or json")
}

/// Starts the log, on stderr.
pub(crate) fn start(filter: &LogFilter, format: LogFormat) {
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_target(false);
    let filtered = tracing_subscriber::registry().with(filter.0.clone());
    match format {
        LogFormat::Text => {
            let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            filtered.with(lines.with_ansi(io::stderr().is_terminal() && !is_plain)).init();
        }
        LogFormat::Json => filtered.with(lines.with_ansi(false).json().flatten_event(true)).init(),
    }
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
        let filter = LogFilter::from_str(filter).expect("a filter");
        let lines = Lines::default();
        let sink = lines.clone();
        let log = tracing_subscriber::fmt::layer().with_writer(move || sink.clone());
        let log = tracing_subscriber::registry().with(filter.0).with(log);
        tracing::subscriber::with_default(log, || {
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

    /// A filter for a module adds to the log; warnings of all other modules remain.
    #[test]
    fn modules_that_are_not_named_log_as_usual() {
        for filter in ["kiosque_server=debug", "kiosque_server", "kiosque_sever=debug"] {
            let logged = logged(filter);
            let is_right = filter.contains("server");
            assert_eq!(logged.contains("request"), is_right, "{filter}: {logged}");
            assert!(logged.contains("kept"), "{filter}: {logged}");
        }
        assert_eq!(logged("error,kiosque_server=error"), "");
        assert_eq!(logged(""), "");
    }

    #[test]
    fn a_filter_by_span_is_refused() {
        for filter in ["[request]=debug", "info,kiosque[{code}]=trace", "=debug", "a b=info"] {
            let refused = LogFilter::from_str(filter).expect_err(filter);
            assert!(refused.contains("does not begin with a module; expected"), "{refused}");
        }
    }

    #[test]
    fn a_misspelt_level_is_refused() {
        for filter in ["verbose", "inof", "info,", "info,kiosque_server=debgu", "a=b=c", "6"] {
            let refused = LogFilter::from_str(filter).expect_err(filter);
            assert!(
                refused.contains("is not a level; expected error, warn"),
                "{filter}: {refused}"
            );
        }
        for filter in ["", "WARN", "off", "0", "warn, kiosque=5", "info,kiosque_store::db=trace"] {
            LogFilter::from_str(filter).expect(filter);
        }
    }
}
