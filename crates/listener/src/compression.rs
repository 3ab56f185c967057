//! Compression of answers (ENV-14, ENV-15), in steps that are short enough for a serving thread.
//!
//! The layer of tower-http makes each answer a stream without a length: one that does not become
//! shorter could not be sent as it is, and unread answers could not be counted by their compressed
//! length. It limits neither the work between two tasks nor the number of encoders.

use std::io::{self, Write};
use std::mem;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderValue, Response, header};
use tokio::sync::Semaphore;
use tokio::task::yield_now;
use zstd::zstd_safe::CParameter;

use crate::answer_body::{BrokenOff, Content, LaterParts};

/// The number of bytes that are compressed before other tasks of the thread run.
const STEP_BYTES: usize = 64 << 10;
/// The number of answers longer than a step that are compressed completely at a time. Each has an
/// encoder of about 300 KiB, or 1 MiB with zstd.
const LONG_ANSWERS_MAX: usize = 8;

const GZIP_LEVEL: u32 = 4;
const ZSTD_LEVEL: i32 = 3;
/// The logarithm of the window of zstd, which bounds the memory of encoders and decoders.
const ZSTD_WINDOW_LOG: u32 = 17;

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Zstd,
}

impl Coding {
    /// Returns the coding that a caller prefers; `None` if it accepts neither, or prefers
    /// uncompressed answers. Of codings with the same weight zstd comes first, as the fastest one.
    /// `*` selects gzip, which every client can read.
    pub(crate) fn preferred(headers: &HeaderMap) -> Option<Coding> {
        let [mut zstd, mut gzip, mut identity, mut any] = [None; 4];
        let values = headers.get_all(header::ACCEPT_ENCODING).iter();
        let values = values.map(|value| value.to_str().unwrap_or_default());
        for (name, weight) in values.flat_map(|value| value.split(',')).filter_map(weighted) {
            let is = |coding: &str| name.eq_ignore_ascii_case(coding);
            let entry = match name {
                _ if is("gzip") || is("x-gzip") => &mut gzip,
                _ if is("zstd") => &mut zstd,
                _ if is("identity") => &mut identity,
                "*" => &mut any,
                _ => continue,
            };
            *entry = Some(weight);
        }
        let (zstd, gzip) = (zstd.unwrap_or_default(), gzip.or(any).unwrap_or_default());
        let (coding, weight) =
            if zstd >= gzip { (Coding::Zstd, zstd) } else { (Coding::Gzip, gzip) };
        (weight > 0.0 && weight >= identity.unwrap_or_default()).then_some(coding)
    }

    fn name(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Coding::Gzip => "gzip",
            Coding::Zstd => "zstd",
        })
    }
}

/// Parses one entry of an `Accept-Encoding`, such as `gzip;q=0.5`; `None` if it is invalid.
fn weighted(choice: &str) -> Option<(&str, f32)> {
    let (name, weight) = choice.split_once(';').unwrap_or((choice, "q=1"));
    let (key, weight) = weight.trim().split_once('=')?;
    let weight = weight.parse().ok().filter(|weight| (0.0..=1.0).contains(weight))?;
    key.eq_ignore_ascii_case("q").then_some((name.trim(), weight))
}

/// Returns the coding of a response to a caller that prefers `preferred`, and adds the header that
/// declares the dependence on the caller.
pub(crate) fn coding_of(
    response: &mut Response<Content>,
    preferred: Option<Coding>,
) -> Option<Coding> {
    if !response.body().is_compressible() {
        return None;
    }
    let vary = HeaderValue::from_static("accept-encoding");
    response.headers_mut().append(header::VARY, vary);
    preferred
}

/// Compresses the answers of a listener.
#[derive(Debug)]
pub(crate) struct Compressor {
    long_answers: Semaphore,
}

impl Compressor {
    pub(crate) fn new() -> Compressor {
        Compressor { long_answers: Semaphore::new(LONG_ANSWERS_MAX) }
    }

    /// Returns the response with its content compressed, if that makes it shorter.
    pub(crate) async fn compress(
        &self,
        response: Response<Content>,
        coding: Coding,
    ) -> Response<Content> {
        let (mut head, content) = response.into_parts();
        let (first, later, memory) = content.into_parts();
        let content = match later {
            Some(later) => match Encoder::new(coding, None) {
                Ok(encoder) => {
                    Content::in_parts(Bytes::new(), compressed_parts(first, later, encoder))
                }
                Err(_) => return Response::from_parts(head, Content::in_parts(first, later)),
            },
            None => match self.compressed_whole(&first, coding).await {
                Ok(compressed) if compressed.len() < first.len() => {
                    let memory = memory.map(|memory| memory.reduced_to(compressed.len()));
                    Content::from(compressed).counted(memory)
                }
                Ok(_) | Err(_) => {
                    return Response::from_parts(head, Content::from(first).counted(memory));
                }
            },
        };
        head.headers.insert(header::CONTENT_ENCODING, coding.name());
        Response::from_parts(head, content)
    }

    async fn compressed_whole(&self, content: &[u8], coding: Coding) -> io::Result<Vec<u8>> {
        let is_long = content.len() > STEP_BYTES;
        let _permit = if is_long { self.long_answers.acquire().await.ok() } else { None };
        let mut encoder = Encoder::new(coding, Some(content.len()))?;
        for (at, step) in content.chunks(STEP_BYTES).enumerate() {
            if at > 0 {
                yield_now().await;
            }
            encoder.input().write_all(step)?;
        }
        encoder.finish()
    }
}

/// Returns the compressed parts of an answer that begins with `first`. Each part is flushed, so
/// that it is sent before the next one is read.
fn compressed_parts(first: Bytes, later: LaterParts, encoder: Encoder) -> LaterParts {
    struct State {
        encoder: Encoder,
        part: Bytes,
        later: LaterParts,
    }
    let state = Some(State { encoder, part: first, later });
    Box::pin(stream::try_unfold(state, |state| async {
        let Some(mut state) = state else { return Ok(None) };
        loop {
            while state.part.is_empty() {
                match state.later.next().await {
                    Some(part) => state.part = part?,
                    None => {
                        let end = state.encoder.finish().map_err(|_| BrokenOff)?;
                        return Ok(Some((Bytes::from(end), None)));
                    }
                }
            }
            let step = state.part.split_to(state.part.len().min(STEP_BYTES));
            state.encoder.input().write_all(&step).map_err(|_| BrokenOff)?;
            if state.part.is_empty() {
                state.encoder.input().flush().map_err(|_| BrokenOff)?;
            }
            let compressed = state.encoder.take();
            yield_now().await;
            if !compressed.is_empty() {
                return Ok(Some((Bytes::from(compressed), Some(state))));
            }
        }
    }))
}

/// Compresses bytes into a vector.
enum Encoder {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::Encoder<'static, Vec<u8>>),
}

impl Encoder {
    /// Returns an encoder for content of this length, if known.
    fn new(coding: Coding, length: Option<usize>) -> io::Result<Encoder> {
        match coding {
            Coding::Gzip => {
                let level = Compression::new(GZIP_LEVEL);
                Ok(Encoder::Gzip(GzEncoder::new(Vec::new(), level)))
            }
            Coding::Zstd => {
                let mut encoder = zstd::Encoder::new(Vec::new(), ZSTD_LEVEL)?;
                encoder.set_parameter(CParameter::WindowLog(ZSTD_WINDOW_LOG))?;
                encoder.set_pledged_src_size(length.map(|length| length as u64))?;
                Ok(Encoder::Zstd(encoder))
            }
        }
    }

    /// Returns where the bytes to compress are written.
    fn input(&mut self) -> &mut dyn Write {
        match self {
            Encoder::Gzip(encoder) => encoder,
            Encoder::Zstd(encoder) => encoder,
        }
    }

    /// Removes and returns the compressed bytes so far.
    fn take(&mut self) -> Vec<u8> {
        mem::take(match self {
            Encoder::Gzip(encoder) => encoder.get_mut(),
            Encoder::Zstd(encoder) => encoder.get_mut(),
        })
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Encoder::Gzip(encoder) => encoder.finish(),
            Encoder::Zstd(encoder) => encoder.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of times that a future is polled until it is ready.
    async fn polls<T>(future: impl Future<Output = T>) -> (usize, T) {
        let (mut future, mut polls) = (std::pin::pin!(future), 0);
        let output = std::future::poll_fn(|context| {
            polls += 1;
            future.as_mut().poll(context)
        });
        let output = output.await;
        (polls, output)
    }

    fn decompressed(content: &[u8], coding: Coding) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        match coding {
            Coding::Gzip => io::copy(&mut flate2::read::GzDecoder::new(content), &mut text)?,
            Coding::Zstd => io::copy(&mut zstd::Decoder::new(content)?, &mut text)?,
        };
        Ok(text)
    }

    /// A long answer leaves the thread to others after each step.
    #[tokio::test]
    async fn a_long_answer_is_compressed_in_steps() {
        let content: Vec<u8> = (0..=250).cycle().take(10 * STEP_BYTES).collect();
        for coding in [Coding::Gzip, Coding::Zstd] {
            let compressor = Compressor::new();
            let whole = Response::new(Content::from(content.clone()));
            let (steps, response) = polls(compressor.compress(whole, coding)).await;
            assert_eq!(steps, 10, "{coding:?}");
            let sent = response.into_body().whole().expect("a whole answer");
            assert!(sent.len() * 10 < content.len());
            assert_eq!(decompressed(&sent, coding).expect("valid"), content);

            let first = Bytes::from(content.clone());
            let later: LaterParts = Box::pin(stream::empty());
            let encoder = Encoder::new(coding, None).expect("an encoder");
            let parts = compressed_parts(first, later, encoder);
            let (steps, parts) = polls(parts.collect::<Vec<_>>()).await;
            assert_eq!(steps, 11, "{coding:?}");
            let sent: Vec<u8> = parts.into_iter().flat_map(|part| part.expect("a part")).collect();
            assert_eq!(decompressed(&sent, coding).expect("valid"), content);
        }
    }

    /// ENV-15: each part can be read before the next one is created, and an aborted answer remains
    /// incomplete.
    #[tokio::test]
    async fn each_part_is_flushed() {
        for coding in [Coding::Gzip, Coding::Zstd] {
            let part = |number: usize| Ok(Bytes::from(format!("part {number} ").repeat(9)));
            let later = stream::iter([part(1), part(2), Err(BrokenOff)]);
            let encoder = Encoder::new(coding, None).expect("an encoder");
            let first = part(0).expect("a part");
            let mut parts = compressed_parts(first, Box::pin(later), encoder);
            let (mut sent, mut want) = (Vec::new(), String::new());
            for number in 0..3 {
                sent.extend_from_slice(&parts.next().await.expect("a part").expect("compressed"));
                want.push_str(&format!("part {number} ").repeat(9));
                let mut text = vec![0; want.len()];
                let mut reader: Box<dyn io::Read> = match coding {
                    Coding::Gzip => Box::new(flate2::read::GzDecoder::new(&*sent)),
                    Coding::Zstd => Box::new(zstd::Decoder::new(&*sent).expect("a decoder")),
                };
                reader.read_exact(&mut text).expect("the parts so far");
                assert_eq!(text, want.as_bytes(), "{coding:?}");
            }
            assert!(parts.next().await.expect("an error").is_err());
            assert!(decompressed(&sent, coding).is_err(), "{coding:?}: it seems whole");
        }
    }
}
