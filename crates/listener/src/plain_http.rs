//! The answer to plain HTTP on an HTTPS port (ADDR-5).

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const ANSWER: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 57\r\n\
    Connection: close\r\n\r\n\
    This port speaks HTTPS: use https:// in place of http://\n";

/// Returns whether a connection begins with a plain HTTP request. HTTP methods are upper case
/// letters, with which no TLS record begins. Nothing is consumed.
pub(crate) async fn is_plain_http(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    Ok(stream.peek(&mut first).await? > 0 && first[0].is_ascii_uppercase())
}

/// Answers that the port requires HTTPS, and closes the connection once its caller has read that: a
/// connection that is closed while its caller is still sending loses the answer. At most
/// `max_bytes` are read.
pub(crate) async fn refuse(mut stream: TcpStream, max_bytes: u64) -> io::Result<()> {
    stream.write_all(ANSWER).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(max_bytes), &mut tokio::io::sink()).await?;
    Ok(())
}
