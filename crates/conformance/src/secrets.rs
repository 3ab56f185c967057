//! The passwords and tokens of a check, which reports do not show.

use serde_json::Value;

/// The text that replaces each secret in reports.
pub(crate) const STARS: &str = "***";

/// Texts that reports replace by [`STARS`].
#[derive(Debug, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Adds a password.
    pub(crate) fn add_password(&mut self, password: &str) {
        self.add(password.to_owned());
        let in_json = Value::from(password).to_string();
        self.add(in_json.trim_matches('"').to_owned());
    }

    /// Adds a token. A rule sends it with another first character, so the others are secret, too.
    pub(crate) fn add_token(&mut self, token: &str) {
        self.add(token.to_owned());
        self.add(token.chars().skip(1).collect());
    }

    fn add(&mut self, secret: String) {
        if !secret.is_empty() && !self.0.contains(&secret) {
            self.0.push(secret);
            // The longest first, since one may contain another.
            self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// Returns a text with the secrets replaced.
    pub(crate) fn starred(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, STARS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_starred_in_json_and_with_another_first_character() {
        let mut secrets = Secrets::default();
        secrets.add_password("p\"w");
        for token in ["token-1", "token-12", ""] {
            secrets.add_token(token);
        }
        let text = r#"{"password":"p\"w"} p"w token-1 token-12 Xoken-12 "#;
        assert_eq!(secrets.starred(text), r#"{"password":"***"} *** *** *** X*** "#);
    }
}
