//! How long answers took inside the server, from the histograms of its metrics.

use anyhow::Context;

use crate::client::{Call, Client};

/// The histogram of answers, from the first byte of a request to the last byte of its answer.
const NAME: &str = "kiosque_answer_duration_seconds_bucket";

/// The answers to one path, in total or in a period.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ServerTimes {
    /// The number of answers that took at most this many microseconds; bounds and counts increase.
    buckets: Vec<(f64, f64)>,
}

/// Reads the times of a path at the gateway; none for a program without that histogram.
///
/// # Errors
/// The metrics are not answered.
pub(crate) async fn read(operator: &Client, route: &str) -> anyhow::Result<ServerTimes> {
    let text = operator.connect().await?.post(&Call::metrics()?).await?;
    parse(std::str::from_utf8(&text)?, route)
}

fn parse(text: &str, route: &str) -> anyhow::Result<ServerTimes> {
    let gateway = "listener=\"gateway\"";
    let path = format!("path=\"{route}\"");
    let lines = text.lines().filter(|line| {
        line.starts_with(NAME) && line.contains(gateway) && line.contains(path.as_str())
    });
    let bucket = |line: &str| {
        let (_, bound) = line.split_once("le=\"")?;
        let (bound, _) = bound.split_once('"')?;
        let (_, count) = line.rsplit_once(' ')?;
        let bound: f64 = if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? };
        Some((bound * 1e6, count.parse().ok()?))
    };
    let buckets = lines.map(|line| bucket(line).with_context(|| format!("metrics: {line}")));
    Ok(ServerTimes { buckets: buckets.collect::<anyhow::Result<_>>()? })
}

impl ServerTimes {
    /// The answers since `earlier`.
    pub(crate) fn since(&self, earlier: &ServerTimes) -> ServerTimes {
        let both = self.buckets.iter().zip(&earlier.buckets);
        let buckets = both.map(|((bound, now), (_, before))| (*bound, now - before)).collect();
        ServerTimes { buckets }
    }

    /// Returns the time in microseconds that `percent` of 100 answers do not exceed, interpolated
    /// between the bounds of its bucket; `None` without an answer.
    pub(crate) fn percentile(&self, percent: usize) -> Option<f64> {
        let (_, all) = *self.buckets.last()?;
        let rank = all * crate::measure::count(percent) / 100.0;
        let (mut below, mut counted) = (0.0, 0.0);
        for (bound, count) in &self.buckets {
            if *count >= rank && all > 0.0 {
                let part = (rank - counted) / (count - counted).max(1.0);
                let is_open = bound.is_infinite();
                return Some(if is_open { below } else { below + (bound - below) * part });
            }
            (below, counted) = (*bound, *count);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(counts: [u32; 3]) -> String {
        let line = |(bound, count)| {
            format!("{NAME}{{listener=\"gateway\",path=\"/p\",le=\"{bound}\"}} {count}\n")
        };
        let other = format!("{NAME}{{listener=\"operator\",path=\"/p\",le=\"0.001\"}} 7\n");
        let lines = ["0.001", "0.002", "+Inf"].into_iter().zip(counts).map(line);
        lines.chain([other]).collect()
    }

    #[test]
    fn a_percentile_lies_in_its_bucket() {
        let before = parse(&text([10, 10, 10]), "/p").unwrap();
        let now = parse(&text([60, 108, 110]), "/p").unwrap().since(&before);
        assert_eq!(now.percentile(25), Some(500.0));
        assert_eq!(now.percentile(50), Some(1_000.0));
        let p99 = now.percentile(98).unwrap();
        assert!((p99 - 2_000.0).abs() < 1.0, "{p99}");
        assert_eq!(now.percentile(100), Some(2_000.0));
        assert_eq!(before.since(&before).percentile(50), None);
        assert_eq!(parse(&text([1, 2, 3]), "/q").unwrap().percentile(50), None);
    }
}
