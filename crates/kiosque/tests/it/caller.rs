//! A client: HTTP/1.1 over real TLS, on one connection, that trusts the one certificate.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

pub(crate) const TOKEN_PATH: &str = "platform-auth/auth/third-api/token";
pub(crate) const SWITCH_PATH: &str = "platform-auth/auth/third-api/switchGroup";
pub(crate) const DEVICES_PATH: &str = "third-center-web/openapi/v1/kioskDevice/devicePage";
pub(crate) const ORDERS_PATH: &str = "third-center-web/openapi/v1/kioskOrder/queryOrderList";
pub(crate) const DETAIL_PATH: &str = "third-center-web/openapi/v1/kioskOrder/orderDetail";
pub(crate) const SUMMARY_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/summary";
pub(crate) const TREND_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/salesTrend";
pub(crate) const BEST_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/bestSellingProduct";
pub(crate) const BY_DEVICE_PATH: &str = "third-center-web/openapi/v1/kioskDashboard/salesByDevice";

/// One keep-alive connection.
pub(crate) struct Caller(BufReader<StreamOwned<ClientConnection, TcpStream>>);

/// An answer: its HTTP status and its envelope.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) json: Value,
}

impl Reply {
    pub(crate) fn code(&self) -> i64 {
        self.json["code"].as_i64().unwrap()
    }

    /// Returns the data of a successful answer.
    #[track_caller]
    pub(crate) fn data(&self) -> &Value {
        assert_eq!((self.status, self.code()), (200, 200), "{self:?}");
        &self.json["data"]
    }
}

impl Caller {
    pub(crate) fn connect(address: SocketAddr, cert: &Path) -> Caller {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(cert).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let session = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Caller(BufReader::new(StreamOwned::new(session, stream)))
    }

    /// Sends a POST to a path under `/v8`.
    pub(crate) fn call(&mut self, path: &str, token: Option<&str>, body: &str) -> Reply {
        self.send(&request(path, token, body));
        self.reply()
    }

    /// Sends a POST with headers of its own, each with its line end.
    pub(crate) fn call_with(&mut self, headers: &str, path: &str, body: &str) -> Reply {
        self.send(&request(path, None, body).replacen("\r\n", &format!("\r\n{headers}"), 1));
        self.reply()
    }

    /// A POST of which the head is sent, then `meanwhile` happens, then the body is sent.
    pub(crate) fn call_while(
        &mut self,
        path: &str,
        token: &str,
        body: &str,
        meanwhile: impl FnOnce(),
    ) -> Reply {
        let request = request(path, Some(token), body);
        let (head, body) = request.split_at(request.len() - body.len());
        self.send_in_two(head, body, meanwhile).unwrap();
        self.reply()
    }

    /// Sends the head of a request, waits until the server asks for its body, so that the request
    /// is surely under way, and sends that after `meanwhile`.
    fn send_in_two(&mut self, head: &str, body: &str, meanwhile: impl FnOnce()) -> io::Result<()> {
        let head = head.replacen("\r\n\r\n", "\r\nexpect: 100-continue\r\n\r\n", 1);
        self.0.get_mut().write_all(head.as_bytes())?;
        self.0.get_mut().flush()?;
        let mut answer = String::new();
        while !answer.ends_with("\r\n\r\n") && self.0.read_line(&mut answer)? > 0 {}
        assert_eq!(answer, "HTTP/1.1 100 Continue\r\n\r\n");
        meanwhile();
        self.0.get_mut().write_all(body.as_bytes())?;
        self.0.get_mut().flush()
    }

    fn send(&mut self, text: &str) {
        let stream = self.0.get_mut();
        stream.write_all(text.as_bytes()).unwrap();
        stream.flush().unwrap();
    }

    /// Logs in, with success, and returns the token.
    pub(crate) fn log_in(&mut self, username: &str, password: &str) -> String {
        let body = format!(r#"{{"username":"{username}","password":"{password}"}}"#);
        let reply = self.call(TOKEN_PATH, None, &body);
        reply.data()["accessToken"].as_str().unwrap().to_owned()
    }

    /// Sends a POST to the operator's listener; an error when the server ends before it has
    /// answered.
    pub(crate) fn operate(&mut self, path: &str, key: &str, body: &str) -> io::Result<Reply> {
        let stream = self.0.get_mut();
        stream.write_all(operator_head(path, key, body).as_bytes())?;
        stream.write_all(body.as_bytes())?;
        stream.flush()?;
        self.try_reply()
    }

    /// The same, with a function that is called between its head and its body.
    pub(crate) fn operate_while(
        &mut self,
        path: &str,
        key: &str,
        body: &str,
        meanwhile: impl FnOnce(),
    ) -> io::Result<Reply> {
        self.send_in_two(&operator_head(path, key, body), body, meanwhile)?;
        self.try_reply()
    }

    /// Sends as much of an endless stream of orders as the server reads before it ends.
    pub(crate) fn stream(&mut self, key: &str, mut next: impl FnMut() -> String) -> io::Error {
        let head = format!(
            "POST /operator/v1/orders HTTP/1.1\r\nhost: localhost\r\n\
             authorization: Bearer {key}\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        let stream = self.0.get_mut();
        let mut sent = stream.write_all(head.as_bytes());
        loop {
            if let Err(error) = sent {
                return error;
            }
            let text = next();
            let chunk = format!("{:x}\r\n{text}\r\n", text.len());
            sent = stream.write_all(chunk.as_bytes()).and_then(|()| stream.flush());
        }
    }

    fn reply(&mut self) -> Reply {
        self.try_reply().unwrap()
    }

    fn try_reply(&mut self) -> io::Result<Reply> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let status = line.split(' ').nth(1).ok_or(io::ErrorKind::UnexpectedEof)?;
        let status = status.parse().unwrap();
        let mut size = 0;
        loop {
            line.clear();
            self.0.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            if name.eq_ignore_ascii_case("content-length") {
                size = value.parse().unwrap();
            }
        }
        let mut body = vec![0; size];
        self.0.read_exact(&mut body)?;
        Ok(Reply { status, json: serde_json::from_slice(&body).unwrap() })
    }
}

fn operator_head(path: &str, key: &str, body: &str) -> String {
    let size = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
         content-length: {size}\r\n\r\n"
    )
}

fn request(path: &str, token: Option<&str>, body: &str) -> String {
    let token = token.map(|token| format!("third-api-token: {token}\r\n")).unwrap_or_default();
    let size = body.len();
    format!(
        "POST /v8/{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         {token}content-length: {size}\r\n\r\n{body}"
    )
}
