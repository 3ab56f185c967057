//! The reference of the calls: a list of both documents, and a page for each call with a form that
//! tries it.

pub(crate) mod call;
mod chinese;
pub(crate) mod fields;
pub(crate) mod snippets;
pub(crate) mod trial;

use kiosque_contract::GATEWAY_PREFIX;
use kiosque_openapi::reference::{self, CallReference};
use maud::{Markup, html};
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::components::{card, columns, table};
use crate::frame::{Frame, Page, Section};
use crate::text::texts;
use crate::words::ADDRESS;

pub use call::{CallPage, page as call_page};
pub use trial::{Answered, Form, Outcome, Trial, control};

texts! {
    CALL: "Call", "调用";
    SUMMARY: "Summary", "说明";
    DOWNLOAD: "OpenAPI document", "OpenAPI 文档";

    /// Returns the name of a document.
    fn document_name(Document) {
        Integrators: "Calls of integrators", "集成方的调用";
        Operator: "Calls of the operator", "运营方的调用";
    }
}

/// A document with calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, EnumString, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Document {
    /// The calls of integrators.
    #[strum(serialize = "integrator")]
    Integrators,
    /// The operator's calls.
    Operator,
}

impl Document {
    /// Both documents.
    pub const ALL: &[Document] = Document::VARIANTS;

    /// Returns the code in paths.
    pub fn code(self) -> &'static str {
        self.into()
    }

    /// Returns the file name of the document.
    pub const fn file(self) -> &'static str {
        match self {
            Document::Integrators => "openapi.json",
            Document::Operator => "openapi-operator.json",
        }
    }

    /// Returns the calls.
    pub(crate) fn reference(self) -> &'static [CallReference] {
        match self {
            Document::Integrators => reference::integrators(),
            Document::Operator => reference::operators(),
        }
    }

    /// Returns the call with an `operationId`.
    pub fn call(self, id: &str) -> Option<&'static CallReference> {
        self.reference().iter().find(|call| call.id == id)
    }

    /// Returns the path of the page of a call.
    pub fn path_of(self, call: &str) -> String {
        format!("{}/{}/{call}", Section::Api.path(), self.code())
    }

    /// Returns the calls in the order of the list: operator calls that need no key, which are for
    /// monitoring, come last.
    fn calls(self) -> Vec<&'static CallReference> {
        let mut calls: Vec<&CallReference> = self.reference().iter().collect();
        if self == Document::Operator {
            calls.sort_by_key(|call| !call.has_secret);
        }
        calls
    }

    /// Renders the method of a call and the path of its address, which breaks after a slash only.
    fn address(self, call: &CallReference) -> Markup {
        let prefix = match self {
            Document::Integrators => GATEWAY_PREFIX,
            Document::Operator => "",
        };
        let path = format!("{prefix}{}", call.path);
        html! {
            code.path {
                (call.method) " "
                @for part in path.split_inclusive('/') { span { (part) } wbr; }
            }
        }
    }
}

/// Renders the list of all calls.
pub fn page(frame: &Frame<'_>) -> String {
    let columns = columns(frame, &[CALL, ADDRESS, SUMMARY], &[]);
    let list = |document: Document| {
        let name = frame.say(document_name(document));
        let table = table(name, &columns, document.calls(), |call| {
            html! {
                th scope="row" { a href=(document.path_of(&call.id)) { (call.id) } }
                td { (document.address(call)) }
                td.long { (chinese::prose(frame.language, &call.summary)) }
            }
        });
        let file = document.file();
        let body = html! {
            (table)
            p.more {
                a href={ (Section::Api.path()) "/" (file) } download { (frame.say(DOWNLOAD)) }
            }
        };
        card(document.code(), name, "", &body)
    };
    frame.render(&Page {
        heading: frame.say(Section::Api.name()),
        content: html! { @for document in Document::ALL { (list(*document)) } },
        ..Page::default()
    })
}
