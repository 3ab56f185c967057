//! Calls as commands of curl and as programs of Python. Both read the file of the certificate from
//! `CERT`, and secrets from variables or from a file, so that none is in a list of processes.

use kiosque_contract::TOKEN_HEADER;
use kiosque_openapi::reference::{CallReference, Content};
use maud::{Markup, html};

use super::Document;
use crate::components::{address, card, parameter};
use crate::frame::Frame;
use crate::text::texts;
use crate::words::COPY;

texts! {
    HEADING: "Snippets", "代码示例";
    HINT_INTEGRATORS: "CERT is the file of the server's certificate; leave it out if a public \
        authority signed the certificate. TOKEN is the accessToken of a login.",
        "CERT 是服务器证书文件；若证书由公共机构签发则可省略。TOKEN 是登录返回的 accessToken。";
    HINT_OPERATOR: "CERT is the file of the server's certificate; leave it out if a public \
        authority signed the certificate. office.key has the line “Authorization: Bearer KEY”, \
        and the variable KEY the key itself.",
        "CERT 是服务器证书文件；若证书由公共机构签发则可省略。office.key 文件的内容为一行“Authorization: Bearer 密钥”，变量 KEY 为密钥本身。";
}

/// Returns a value for a parameter that a call requires: a group of the demo, or a device of it.
fn sample(name: &str) -> &'static str {
    match name {
        "group" => "harbor-offices",
        _ => "HBR-001",
    }
}

/// Renders the snippets of a call at a base URL.
pub(super) fn list(
    frame: &Frame<'_>,
    document: Document,
    call: &CallReference,
    server: &str,
) -> Markup {
    let hint = match document {
        Document::Integrators => HINT_INTEGRATORS,
        Document::Operator => HINT_OPERATOR,
    };
    let snippet = Snippet { document, call, url: url(call, server) };
    let one = |id: &str, name: &str, text: &str| {
        html! {
            h3 { (name) }
            pre id=(id) tabindex="0" { (text) }
            p.more { button type="button" data-copy=(id) { (frame.say(COPY)) } }
        }
    };
    let body = html! {
        p.hint { (frame.say(hint)) }
        (one("curl", "curl", &snippet.curl()))
        (one("python", "Python", &snippet.python()))
    };
    card("snippets", frame.say(HEADING), "", &body)
}

/// Returns the address of a call, with its required parameters and with those that have a default.
fn url(call: &CallReference, server: &str) -> String {
    let query = call.query.iter().filter_map(|field| {
        let sample = field.is_required.then(|| sample(&field.name));
        Some(parameter(&field.name, field.default.as_deref().or(sample)?))
    });
    let query: Vec<String> = query.collect();
    address(&format!("{server}{}", call.path), &[&query.join("&")])
}

struct Snippet<'a> {
    document: Document,
    call: &'a CallReference,
    url: String,
}

impl Snippet<'_> {
    fn curl(&self) -> String {
        let mut lines = vec![
            "curl --silent --show-error ${CERT:+--cacert \"$CERT\"}".to_owned(),
            format!("'{}'", self.url),
        ];
        if self.call.has_secret {
            lines.push(match self.document {
                Document::Integrators => format!("-H \"{TOKEN_HEADER}: $TOKEN\""),
                Document::Operator => "-H @office.key".to_owned(),
            });
        }
        if let Some(body) = &self.call.body {
            lines.push(format!("-H 'Content-Type: {}'", body.content_type));
        }
        lines.extend(match (&self.call.body, self.file()) {
            (Some(_), Some(file)) => Some(format!("--data-binary @{file}")),
            (Some(body), None) => Some(format!("-d '{}'", example(body))),
            (None, _) => (self.call.method == "POST").then(|| "-d ''".to_owned()),
        });
        lines.join(" \\\n  ")
    }

    fn python(&self) -> String {
        let mut headers = Vec::new();
        if let Some(body) = &self.call.body {
            headers.push(format!("\"Content-Type\": \"{}\"", body.content_type));
        }
        if self.call.has_secret {
            headers.push(match self.document {
                Document::Integrators => format!("\"{TOKEN_HEADER}\": os.environ[\"TOKEN\"]"),
                Document::Operator => {
                    "\"Authorization\": \"Bearer \" + os.environ[\"KEY\"]".to_owned()
                }
            });
        }
        let data = match (&self.call.body, self.file()) {
            (Some(_), Some(file)) => format!("open(\"{file}\", \"rb\").read()"),
            (Some(body), None) => format!("'{}'.encode()", example(body)),
            (None, _) if self.call.method == "POST" => "b\"\"".to_owned(),
            (None, _) => "None".to_owned(),
        };
        format!(
            "import os, ssl, urllib.request\n\n\
             request = urllib.request.Request(\n    \
                 \"{url}\",\n    \
                 data={data},\n    \
                 headers={{{headers}}},\n\
             )\n\
             context = ssl.create_default_context(cafile=os.environ.get(\"CERT\"))\n\
             with urllib.request.urlopen(request, context=context) as answer:\n    \
                 print(answer.read().decode())\n",
            url = self.url,
            headers = headers.join(", "),
        )
    }

    /// Returns the file with the body of a call whose document has no example of it.
    fn file(&self) -> Option<String> {
        let body = self.call.body.as_ref().filter(|body| body.example.is_none())?;
        let extension = body.content_type.rsplit(['/', '-']).next().unwrap_or_default();
        Some(format!("{}.{extension}", self.call.path.rsplit('/').next().unwrap_or_default()))
    }
}

/// Returns an example, without the characters that end a quoted text.
fn example(body: &Content) -> String {
    let example = body.example.as_ref().map(ToString::to_string).unwrap_or_default();
    example.replace('\'', "\\u0027")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippet(document: Document, id: &str) -> (String, String) {
        let call = document.call(id).expect("a call");
        let snippet = Snippet { document, call, url: url(call, "https://h:1/v8") };
        (snippet.curl(), snippet.python())
    }

    #[test]
    fn snippets_send_the_token_the_page_and_the_example() {
        let (curl, python) = snippet(Document::Integrators, "devicePage");
        let path = "third-center-web/openapi/v1/kioskDevice/devicePage";
        assert_eq!(
            curl,
            format!(
                "curl --silent --show-error ${{CERT:+--cacert \"$CERT\"}} \\\n  \
                 'https://h:1/v8/{path}?current=1&size=10' \\\n  \
                 -H \"third-api-token: $TOKEN\" \\\n  \
                 -H 'Content-Type: application/json' \\\n  \
                 -d '{{\"deviceName\":\"lobby\"}}'"
            )
        );
        let header = "\"third-api-token\": os.environ[\"TOKEN\"]";
        assert!(python.contains(header) && python.contains(path), "{python}");
        assert!(python.contains("data='{\"deviceName\":\"lobby\"}'.encode()"), "{python}");
        let (login, _) = snippet(Document::Integrators, "logIn");
        assert!(!login.contains("TOKEN"), "{login}");
        let (without_body, python) = snippet(Document::Integrators, "onlineDevices");
        assert!(without_body.ends_with("-d ''") && python.contains("data=b\"\""), "{python}");
    }

    #[test]
    fn snippets_of_the_operator_read_the_key_and_the_body_from_files() {
        let (curl, python) = snippet(Document::Operator, "receiveOrders");
        assert!(curl.contains("-H @office.key") && curl.ends_with("@orders.ndjson"), "{curl}");
        assert!(python.contains("open(\"orders.ndjson\", \"rb\").read()"), "{python}");
        let (curl, python) = snippet(Document::Operator, "applyFleet");
        assert!(curl.ends_with("--data-binary @fleet.json"), "{curl}");
        assert!(python.contains("\"Bearer \" + os.environ[\"KEY\"]"), "{python}");
        let (curl, python) = snippet(Document::Operator, "showDevice");
        assert!(curl.contains("/operator/v1/device?deviceCode=HBR-001'"), "{curl}");
        assert!(python.contains("data=None"), "{python}");
        let (curl, python) = snippet(Document::Operator, "listChanges");
        let address = "https://h:1/v8/operator/v1/changes?group=harbor-offices";
        assert!(curl.contains(&format!("'{address}'")), "{curl}");
        assert!(python.contains(&format!("\"{address}\"")), "{python}");
        let (curl, _) = snippet(Document::Operator, "livez");
        assert!(!curl.contains("office.key"), "{curl}");
    }
}
