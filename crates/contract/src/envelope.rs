//! The envelope of every answer (ENV-1 and ENV-3 in `docs/interface.md`).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The business status in `code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// 200: success.
    Success = 200,
    /// -1: a business refusal.
    Business = -1,
    /// -2: the login name or the password is wrong.
    Credentials = -2,
    /// -3: the token header is missing on an authentication path.
    TokenMissing = -3,
    /// -4: the token is unknown, replaced, expired or altered.
    TokenInvalid = -4,
    /// 0: there is no such path; goes with HTTP 404.
    NotFound = 0,
    /// 500: the request could not be read, or the system failed.
    System = 500,
}

impl Code {
    /// Every code, in the order of ENV-3.
    pub const ALL: &[Code] = Code::VARIANTS;

    /// The name in the documents.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The number in JSON.
    pub const fn number(self) -> i32 {
        self as i32
    }
}

/// The envelope of every answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Envelope<T> {
    /// The outcome (ENV-3); 200 is success. Check the HTTP status, too (ENV-2).
    pub code: i32,
    /// Message in the language of `X-Locale`.
    pub msg: Cow<'static, str>,
    /// The English message of a failure; null on success.
    pub en_msg: Option<Cow<'static, str>>,
    /// The payload of a success; ENV-7 says which shape it has on a failure.
    pub data: T,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_numbers_of_the_interface() {
        let numbers: Vec<i32> = Code::ALL.iter().map(|code| code.number()).collect();
        assert_eq!(numbers, [200, -1, -2, -3, -4, 0, 500]);
    }
}
