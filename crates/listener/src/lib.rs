//! Listeners: TLS, connections of HTTP/1 and HTTP/2 with their deadlines, limits by source, bodies
//! of requests, and the memory of unread answers.
//!
//! A connection passes `listener` → `connection` → the function that answers its requests; an
//! answer returns as [`Content`]. Nothing here depends on a path or a caller.

mod answer_body;
mod answer_durations;
mod compression;
mod connection;
mod connection_activity;
mod control_frames;
mod http1_request;
pub mod json;
mod listener;
mod metrics;
mod monitored_stream;
mod plain_http;
mod plain_listener;
mod request_body;
mod source_limits;
mod stop;
mod stream_deadline;
pub mod tls;
mod unread_answers;

pub use answer_body::{BrokenOff, Content, LaterParts};
pub use answer_durations::AnswerDurations;
pub use connection::{AnswerFuture, BoxedAnswer, ConnectionOptions};
pub use http1_request::is_for_domain;
pub use listener::{Listener, OpenConnections};
pub use metrics::ConnectionMetrics;
pub use plain_listener::PlainListener;
pub use request_body::{BodyError, BoxError, read_body};
pub use source_limits::{KeptConnection, WhenFull};
pub use stop::Stop;
pub use unread_answers::{AnswerMemory, UnreadAnswers};

/// Entry points for the fuzz targets.
#[doc(hidden)]
pub mod fuzzing {
    use crate::control_frames::ControlFrames;

    /// Returns the initial window of a stream after the bytes of an HTTP/2 caller, which arrive in
    /// pieces of `size`; `None` if they contain too many control frames.
    pub fn stream_window_after(bytes: &[u8], size: std::num::NonZero<usize>) -> Option<u32> {
        let mut frames = ControlFrames::new();
        let mut pieces = bytes.chunks(size.get());
        pieces.all(|piece| frames.received(piece).is_ok()).then(|| frames.stream_window())
    }
}
