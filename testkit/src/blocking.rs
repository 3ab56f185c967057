//! A blocking client, for tests of the program.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use rustls::{ClientConnection, StreamOwned};

use crate::paths::{ORDERS_CALL, SWITCH_PATH, TOKEN_PATH};
use crate::reply::{Reply, parse_response};
use crate::tls::{VERSIONS, client_config, server_name};

/// A keep-alive connection of HTTP/1.1.
pub struct Client {
    stream: StreamOwned<ClientConnection, TcpStream>,
    /// The bytes received after the last response.
    received: Vec<u8>,
}

impl Client {
    /// Connects to a server that shows the certificate of this file.
    pub fn connect(address: SocketAddr, certificate: &Path) -> Client {
        let config = client_config(certificate, &VERSIONS, None);
        let session = ClientConnection::new(config, server_name()).unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream: StreamOwned::new(session, stream), received: Vec::new() }
    }

    /// Sends a POST to a path under `/v8`.
    pub fn call(&mut self, path: &str, token: Option<&str>, body: &str) -> Reply {
        self.try_call(path, token, body).unwrap()
    }

    /// Sends a POST to a path under `/v8`.
    ///
    /// # Errors
    /// The server closes the connection before it has responded.
    pub fn try_call(&mut self, path: &str, token: Option<&str>, body: &str) -> io::Result<Reply> {
        self.send(&gateway_head(path, token, body), body)?;
        self.reply()
    }

    /// Sends a POST with additional headers, each with its line end.
    pub fn call_with(&mut self, headers: &str, path: &str, body: &str) -> Reply {
        let head = gateway_head(path, None, body);
        let head = head.replacen("\r\n", &format!("\r\n{headers}"), 1);
        self.send(&head, body).unwrap();
        self.reply().unwrap()
    }

    /// Sends a POST, and calls `meanwhile` between its head and its body.
    pub fn call_while(
        &mut self,
        path: &str,
        token: &str,
        body: &str,
        meanwhile: impl FnOnce(),
    ) -> Reply {
        self.send_in_two(&gateway_head(path, Some(token), body), body, meanwhile).unwrap();
        self.reply().unwrap()
    }

    /// Logs in, with success, and returns the token.
    pub fn log_in(&mut self, username: &str, password: &str) -> String {
        let body = format!(r#"{{"username":"{username}","password":"{password}"}}"#);
        let reply = self.call(TOKEN_PATH, None, &body);
        reply.success()["accessToken"].as_str().unwrap().to_owned()
    }

    /// Changes the session's group, with success, and returns the new token.
    pub fn switch(&mut self, token: &str, group: &str) -> String {
        let reply = self.call(SWITCH_PATH, Some(token), &format!(r#"{{"groupId":"{group}"}}"#));
        reply.success()["accessToken"].as_str().unwrap().to_owned()
    }

    /// Sends a POST to the operator's listener.
    ///
    /// # Errors
    /// The server ends before it has responded.
    pub fn call_operator(&mut self, path: &str, key: &str, body: &str) -> io::Result<Reply> {
        self.send(&operator_head(path, key, body), body)?;
        self.reply()
    }

    /// Sends a POST to the operator's listener, and calls `meanwhile` between its head and its
    /// body.
    ///
    /// # Errors
    /// The server ends before it has responded.
    pub fn call_operator_while(
        &mut self,
        path: &str,
        key: &str,
        body: &str,
        meanwhile: impl FnOnce(),
    ) -> io::Result<Reply> {
        self.send_in_two(&operator_head(path, key, body), body, meanwhile)?;
        self.reply()
    }

    /// Sends an endless stream of orders until the server ends, and returns the error.
    pub fn stream_orders(&mut self, key: &str, mut next: impl FnMut() -> String) -> io::Error {
        let head = format!(
            "POST {ORDERS_CALL} HTTP/1.1\r\nhost: localhost\r\n\
             authorization: Bearer {key}\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        let mut sent = self.stream.write_all(head.as_bytes());
        loop {
            if let Err(error) = sent {
                return error;
            }
            let text = next();
            let chunk = format!("{:x}\r\n{text}\r\n", text.len());
            sent = self.stream.write_all(chunk.as_bytes()).and_then(|()| self.stream.flush());
        }
    }

    fn send(&mut self, head: &str, body: &str) -> io::Result<()> {
        self.stream.write_all([head, body].concat().as_bytes())?;
        self.stream.flush()
    }

    /// Sends the head of a request, and the body after `meanwhile`. The server has begun to read
    /// the request by then, since it has requested the body.
    fn send_in_two(&mut self, head: &str, body: &str, meanwhile: impl FnOnce()) -> io::Result<()> {
        let head = head.replacen("\r\n\r\n", "\r\nexpect: 100-continue\r\n\r\n", 1);
        self.send(&head, "")?;
        assert_eq!(self.reply()?.status, 100);
        meanwhile();
        self.send("", body)
    }

    fn reply(&mut self) -> io::Result<Reply> {
        read_reply(&mut self.stream, &mut self.received, "POST")
    }
}

/// Reads the next response, to a request with this method. `received` has the bytes that were
/// received after the last one.
pub(crate) fn read_reply(
    stream: &mut impl Read,
    received: &mut Vec<u8>,
    method: &str,
) -> io::Result<Reply> {
    let mut chunk = [0; 16_384];
    loop {
        if let Some((reply, length)) = parse_response(received, method) {
            received.drain(..length);
            return Ok(reply);
        }
        match stream.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => received.extend(&chunk[..length]),
            // Linux never restarts a read with a timeout that a signal has interrupted.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn gateway_head(path: &str, token: Option<&str>, body: &str) -> String {
    let token = token.map(|token| format!("third-api-token: {token}\r\n")).unwrap_or_default();
    let size = body.len();
    format!(
        "POST /v8/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         {token}content-length: {size}\r\n\r\n"
    )
}

fn operator_head(path: &str, key: &str, body: &str) -> String {
    let size = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
         content-length: {size}\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection whose every read ends by a signal before it has bytes.
    struct Signalled<'a>(&'a [u8], bool);

    impl Read for Signalled<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            match self.1 {
                true => Err(io::ErrorKind::Interrupted.into()),
                false => self.0.read(buffer),
            }
        }
    }

    #[test]
    fn a_response_is_read_across_signals() {
        let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        let mut stream = Signalled(response, false);
        let reply = read_reply(&mut stream, &mut Vec::new(), "POST").unwrap();
        assert_eq!((reply.status, reply.json), (200, serde_json::json!({})));
        let ended = read_reply(&mut stream, &mut Vec::new(), "POST").unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::UnexpectedEof);
    }
}
