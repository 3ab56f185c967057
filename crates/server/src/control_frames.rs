//! Ends HTTP/2 connections that send little but control frames. Each is cheap for the caller and
//! costs the server some work, and deadlines do not see them.

/// The connection preface of HTTP/2, which comes before the first frame.
const PREFACE_BYTES: usize = 24;
const HEAD_BYTES: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;

/// Control frames that a connection may send before anything else.
const CREDIT_MAX: usize = 10_000;
/// Control frames that a connection may send for each request.
const CREDIT_OF_REQUEST: usize = 100;
/// The same for each frame of a body that has bytes.
const CREDIT_OF_DATA: usize = 16;
/// Bytes of answers for which a connection may send a control frame: a window update, usually.
const BYTES_OF_CREDIT: usize = 512;

/// Counts the control frames of a connection against a credit that requests, bodies and answers
/// renew.
#[derive(Debug)]
pub(crate) struct ControlFrames {
    credit: usize,
    /// Bytes until the next frame begins.
    skip: usize,
    /// The start of a frame whose head has not arrived whole.
    head: [u8; HEAD_BYTES],
    head_bytes: usize,
    /// Bytes sent that have not become credit.
    sent: usize,
}

impl ControlFrames {
    pub(crate) fn new() -> ControlFrames {
        ControlFrames {
            credit: CREDIT_MAX,
            skip: PREFACE_BYTES,
            head: [0; HEAD_BYTES],
            head_bytes: 0,
            sent: 0,
        }
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
    /// The caller has sent more control frames than it may.
    pub(crate) fn received(&mut self, mut bytes: &[u8]) -> Result<(), TooMany> {
        while !bytes.is_empty() {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = bytes.get(skipped..).unwrap_or_default();
            let wanted = (HEAD_BYTES - self.head_bytes).min(bytes.len());
            let (now, rest) = bytes.split_at_checked(wanted).unwrap_or_default();
            bytes = rest;
            if let Some(free) = self.head.get_mut(self.head_bytes..self.head_bytes + wanted) {
                free.copy_from_slice(now);
            }
            self.head_bytes += wanted;
            if self.head_bytes == HEAD_BYTES {
                self.head_bytes = 0;
                self.frame()?;
            }
        }
        Ok(())
    }

    /// Counts the frame whose head has arrived.
    fn frame(&mut self) -> Result<(), TooMany> {
        let [a, b, c, kind, ..] = self.head;
        let length = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
        self.skip = length;
        match kind {
            HEADERS => self.renew(CREDIT_OF_REQUEST),
            DATA if length > 0 => self.renew(CREDIT_OF_DATA),
            _ => self.credit = self.credit.checked_sub(1).ok_or(TooMany)?,
        }
        Ok(())
    }

    fn renew(&mut self, credit: usize) {
        self.credit = self.credit.saturating_add(credit).min(CREDIT_MAX);
    }
}

/// A connection sent too many control frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many control frames")]
pub(crate) struct TooMany;

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
        assert_eq!(frames.received(&flood), Ok(()));
        assert_eq!(frames.received(&frame(PING, 8)), Err(TooMany));

        let mut frames = begun();
        assert_eq!(frames.received(&flood), Ok(()));
        frames.received(&frame(HEADERS, 200)).expect("a request");
        frames.received(&frame(DATA, 1)).expect("a body");
        frames.received(&frame(DATA, 0)).expect("a frame without bytes is one of control");
        frames.sent(100 * BYTES_OF_CREDIT + 1);
        let more = CREDIT_OF_REQUEST + CREDIT_OF_DATA - 1 + 100;
        assert_eq!(frames.received(&frame(PING, 8).repeat(more)), Ok(()));
        assert_eq!(frames.received(&frame(PING, 8)), Err(TooMany));
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
