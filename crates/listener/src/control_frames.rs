//! Parses the heads of the frames that an HTTP/2 caller sends. Connections that send mostly control
//! frames are ended: each frame is cheap for the caller and costs the server some work, and
//! deadlines do not see it. h2 0.4 itself limits streams, resets, headers, continuations and small
//! frames of data, but none of the other control frames.

use std::io;

/// The connection preface of HTTP/2, which comes before the first frame.
const PREFACE_BYTES: usize = 24;
const HEAD_BYTES: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;

/// The window of a stream before the caller has set another one.
pub(crate) const INITIAL_WINDOW: u32 = 65_535;
/// The setting of that window.
const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];
const SETTING_BYTES: usize = 6;

/// Control frames that a connection may send before anything else.
const CREDIT_MAX: usize = 10_000;
/// Control frames that a connection may send for each request.
const CREDIT_OF_REQUEST: usize = 100;
/// Control frames that a connection may send for each frame of a body that has bytes.
const CREDIT_OF_DATA: usize = 16;
/// Bytes of answers per control frame that a connection may send: usually a window update.
const BYTES_OF_CREDIT: usize = 512;

/// Counts the control frames of a connection against a credit that requests, bodies and answers
/// renew.
#[derive(Debug)]
pub(crate) struct ControlFrames {
    credit: usize,
    /// Bytes until the next frame begins.
    skip: usize,
    /// Settings until the next frame begins.
    settings: usize,
    /// The beginning of a head or of a setting that has not fully arrived.
    part: Vec<u8>,
    /// Sent bytes that have not become credit.
    sent: usize,
    stream_window: u32,
}

impl ControlFrames {
    pub(crate) fn new() -> ControlFrames {
        ControlFrames {
            credit: CREDIT_MAX,
            skip: PREFACE_BYTES,
            settings: 0,
            part: Vec::with_capacity(HEAD_BYTES),
            sent: 0,
            stream_window: INITIAL_WINDOW,
        }
    }

    /// Returns the initial window of a stream, as set by the caller.
    pub(crate) fn stream_window(&self) -> u32 {
        self.stream_window
    }

    /// Adds bytes that were sent to the caller.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.sent = self.sent.saturating_add(bytes);
        self.renew(self.sent / BYTES_OF_CREDIT);
        self.sent %= BYTES_OF_CREDIT;
    }

    /// Reads bytes that the caller sent.
    ///
    /// # Errors
    /// The caller has sent too many control frames.
    pub(crate) fn received(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        loop {
            let (skipped, rest) = bytes.split_at(self.skip.min(bytes.len()));
            self.skip -= skipped.len();
            let wanted = if self.settings > 0 { SETTING_BYTES } else { HEAD_BYTES };
            let (part, rest) = rest.split_at(rest.len().min(wanted - self.part.len()));
            self.part.extend_from_slice(part);
            if self.part.len() < wanted {
                return Ok(());
            }
            bytes = rest;
            match *self.part {
                [ref name @ .., a, b, c, d] if wanted == SETTING_BYTES => {
                    self.settings -= 1;
                    if *name == INITIAL_WINDOW_SIZE {
                        self.stream_window = u32::from_be_bytes([a, b, c, d]);
                    }
                }
                [a, b, c, kind, ..] => self.frame(kind, [0, a, b, c])?,
                _ => {}
            }
            self.part.clear();
        }
    }

    /// Counts a frame.
    fn frame(&mut self, kind: u8, length: [u8; 4]) -> io::Result<()> {
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        // Incomplete settings end the connection.
        match kind == SETTINGS && length.is_multiple_of(SETTING_BYTES) {
            true => self.settings = length / SETTING_BYTES,
            false => self.skip = length,
        }
        match kind {
            HEADERS => self.renew(CREDIT_OF_REQUEST),
            DATA if length > 0 => self.renew(CREDIT_OF_DATA),
            _ => {
                let credit = self.credit.checked_sub(1);
                self.credit = credit.ok_or_else(|| io::Error::other("too many control frames"))?;
            }
        }
        Ok(())
    }

    fn renew(&mut self, credit: usize) {
        self.credit = self.credit.saturating_add(credit).min(CREDIT_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, length: u8) -> Vec<u8> {
        let mut bytes = vec![0, 0, length, kind, 0, 0, 0, 0, 1];
        bytes.extend(std::iter::repeat_n(6, length.into()));
        bytes
    }

    fn begun() -> ControlFrames {
        let mut frames = ControlFrames::new();
        frames.received(&[6; PREFACE_BYTES]).expect("the preface is no frame");
        frames
    }

    #[test]
    fn control_frames_end_a_connection_and_requests_allow_more_of_them() {
        const PING: u8 = 6;
        let flood = frame(PING, 8).repeat(CREDIT_MAX);
        let mut frames = begun();
        assert!(frames.received(&flood).is_ok());
        assert!(frames.received(&frame(PING, 8)).is_err());

        let mut frames = begun();
        assert!(frames.received(&flood).is_ok());
        frames.received(&frame(HEADERS, 200)).expect("a request");
        frames.received(&frame(DATA, 1)).expect("a body");
        frames.received(&frame(DATA, 0)).expect("a frame without bytes is one of control");
        frames.sent(100 * BYTES_OF_CREDIT + 1);
        let more = CREDIT_OF_REQUEST + CREDIT_OF_DATA - 1 + 100;
        assert!(frames.received(&frame(PING, 8).repeat(more)).is_ok());
        assert!(frames.received(&frame(PING, 8)).is_err());
    }

    #[test]
    fn the_window_of_a_stream_is_that_of_the_settings() {
        let mut bytes = vec![6; PREFACE_BYTES];
        let windows = [([0, 1], 7_u32), (INITIAL_WINDOW_SIZE, 9), (INITIAL_WINDOW_SIZE, 70_000)];
        let settings =
            windows.map(|(name, value)| [name.as_slice(), &value.to_be_bytes()].concat());
        bytes.extend([0, 0, 18, SETTINGS, 0, 0, 0, 0, 0]);
        bytes.extend(settings.concat());
        for size in 1..=bytes.len() {
            let mut frames = ControlFrames::new();
            assert_eq!(frames.stream_window(), INITIAL_WINDOW);
            for chunk in bytes.chunks(size) {
                frames.received(chunk).expect("few frames");
            }
            assert_eq!(frames.stream_window(), 70_000, "in pieces of {size}");
            // Other frames may contain any bytes.
            frames.received(&frame(DATA, 8)).expect("a body");
            assert_eq!(frames.credit, CREDIT_MAX, "in pieces of {size}");
            frames.received(&[0, 0, 6, 9, 0, 0, 0, 0, 1, 0, 4, 0, 0, 0, 1]).expect("a header");
            assert_eq!(frames.stream_window(), 70_000);
        }
    }

    #[test]
    fn frames_are_found_however_they_arrive() {
        let mut bytes = vec![6; PREFACE_BYTES];
        for kind in [HEADERS, DATA, 6, 8, DATA, 4] {
            bytes.extend(frame(kind, 7 * kind));
        }
        for size in 1..bytes.len() {
            let mut frames = ControlFrames::new();
            frames.credit = 0;
            let mut results = bytes.chunks(size).map(|chunk| frames.received(chunk));
            assert!(results.all(|result| result.is_ok()), "in pieces of {size}");
            // Empty data counts as control.
            assert_eq!(frames.credit, CREDIT_OF_REQUEST - 5, "in pieces of {size}");
        }
    }
}
