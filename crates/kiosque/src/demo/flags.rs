//! The flags of `kiosque demo`.

use std::ops::RangeInclusive;
use std::time::Duration;

use clap::Args;
use jiff::Timestamp;
use jiff::civil::Date;
use kiosque_clock::{Clock, VirtualClock};
use kiosque_model::{UnixMs, Zone};

use crate::fault_proxy::FaultFlags;

/// The flags that only `kiosque demo` has.
#[derive(Args, Debug)]
pub(crate) struct DemoFlags {
    /// Last day of the fleet's orders [default: today].
    #[arg(long, value_name = "DATE", value_parser = day, conflicts_with = "clock")]
    pub(super) today: Option<Date>,
    /// Start at this time: sessions, "today" and new orders follow it [default: now].
    #[arg(long, value_name = "TIME", value_parser = start, conflicts_with = "today")]
    clock: Option<UnixMs>,
    /// Run the clock faster, up to 1000x: 60x is a minute per second [default: 1x].
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    clock_speed: Option<u32>,
    /// New orders per second of the clock, up to 100/s.
    #[arg(
        long,
        value_name = "RATE",
        default_value = "0.25/s",
        value_parser = interval,
        conflicts_with = "quiet"
    )]
    stream: Duration,
    /// Send no heartbeats and no new orders while it serves.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    pub(super) faults: FaultFlags,
}

/// The source of a demo's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// From the clock of the system.
    Real,
    /// From a clock that begins at this time, and runs this number of times as fast.
    Virtual(UnixMs, u32),
}

/// The maximum number of orders that a demo stores per second.
const ORDERS_PER_SECOND_MAX: u32 = 1_000;

impl DemoFlags {
    pub(super) fn time(&self) -> Time {
        match (self.clock, self.clock_speed) {
            (None, None) => Time::Real,
            (start, speed) => {
                let start = start.unwrap_or_else(|| Clock::System.now());
                Time::Virtual(start, speed.unwrap_or(1))
            }
        }
    }

    /// Returns the interval of new orders, unless it is too short; `None` if the kiosks are silent.
    pub(super) fn interval(&self) -> anyhow::Result<Option<Duration>> {
        if self.quiet {
            return Ok(None);
        }
        let (interval, speed) = (self.stream, self.clock_speed.unwrap_or(1));
        let rate = Duration::from_secs(1).as_millis() * u128::from(speed) / interval.as_millis();
        if rate > u128::from(ORDERS_PER_SECOND_MAX) {
            anyhow::bail!(
                "--stream with --clock-speed {speed}x makes {rate} orders a second, and a demo \
                 stores at most {ORDERS_PER_SECOND_MAX}; lower one of them"
            );
        }
        Ok(Some(interval))
    }
}

impl Time {
    /// Returns a clock that starts now.
    pub(super) fn clock(self) -> Clock {
        match self {
            Time::Real => Clock::System,
            Time::Virtual(start, speed) => Clock::Virtual(VirtualClock::starting(start, speed)),
        }
    }

    /// Returns the time at which the demo starts.
    pub(super) fn start(self) -> UnixMs {
        match self {
            Time::Real => Clock::System.now(),
            Time::Virtual(start, _) => start,
        }
    }
}

/// The years of a demo.
const YEARS: RangeInclusive<i16> = 2000..=2099;

/// Parses the last day of the orders.
fn day(text: &str) -> Result<Date, String> {
    let date = text.parse().ok().filter(|date: &Date| YEARS.contains(&date.year()));
    date.ok_or_else(|| format!("{text:?} is not a date from 2000 to 2099, such as 2026-03-31"))
}

/// Parses the start of a clock.
fn start(text: &str) -> Result<UnixMs, String> {
    let time = text.parse::<Timestamp>().ok().map(|time| UnixMs(time.as_millisecond()));
    let time = time.filter(|time| YEARS.contains(&Zone::utc().civil(*time).year()));
    time.ok_or_else(|| {
        format!(
            "{text:?} is not a time from 2000 to 2099 with an offset, such as 2026-03-31T23:59:50Z"
        )
    })
}

/// Parses the speed of a clock.
fn speed(text: &str) -> Result<u32, String> {
    let speed: Option<u32> = text.strip_suffix('x').and_then(|speed| speed.parse().ok());
    speed.filter(|speed| (1..=1_000).contains(speed)).ok_or_else(|| {
        format!("{text:?} is not a speed from 1x to 1000x, in whole numbers, such as 60x")
    })
}

/// Parses a rate of new orders as the interval between them.
fn interval(text: &str) -> Result<Duration, String> {
    let rate: Option<f64> = text.strip_suffix("/s").and_then(|rate| rate.parse().ok());
    let rate = rate.filter(|rate| (0.001..=100.0).contains(rate));
    let interval = rate.map(|rate| Duration::from_secs_f64(1.0 / rate));
    // A sale is identified by the millisecond of its start.
    let whole = |it: Duration| Duration::from_millis(it.as_millis().try_into().unwrap_or(1));
    interval.map(whole).ok_or_else(|| {
        format!("{text:?} is not a rate from 0.001/s to 100/s, such as 5/s or 0.25/s")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_speeds_and_rates_are_parsed_and_limited() {
        assert_eq!(start("2026-03-31T23:59:50Z"), Ok(UnixMs(1_775_001_590_000)));
        assert_eq!(start("2026-04-01T01:59:50+02:00"), Ok(UnixMs(1_775_001_590_000)));
        for wrong in ["", "2026-03-31", "2026-03-31T23:59:50", "now", "2100-01-01T00:00:00Z"] {
            assert!(start(wrong).is_err(), "{wrong}");
        }
        assert!(day("2026-03-31").is_ok());
        for wrong in ["", "today", "2026-02-30", "9999-12-31", "0001-01-01"] {
            let expected = "is not a date from 2000 to 2099, such as 2026-03-31";
            assert_eq!(day(wrong), Err(format!("{wrong:?} {expected}")));
        }
        assert_eq!((speed("1x"), speed("1000x")), (Ok(1), Ok(1_000)));
        for wrong in ["", "60", "0x", "1001x", "-1x", "1.5x", "x"] {
            assert!(speed(wrong).is_err(), "{wrong}");
        }
        assert_eq!(interval("0.25/s"), Ok(Duration::from_secs(4)));
        assert_eq!(interval("5/s"), Ok(Duration::from_millis(200)));
        assert_eq!(interval("3/s"), Ok(Duration::from_millis(333)));
        for wrong in ["", "5", "0/s", "-5/s", "101/s", "5/m", "NaN/s", "inf/s", "/s"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}
