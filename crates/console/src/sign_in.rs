//! The sign-in: a form for an operator key, or the button of a one-time link.

use kiosque_locale::Locale;
use maud::{Markup, html};

use crate::frame::{Section, Theme, brand, document, preferences};
use crate::text::{Text, texts};

texts! {
    SIGN_IN: "Sign in", "登录";
    KEY: "Operator key", "运营方密钥";
    KEY_HINT: "It begins with kqo_. Create one with “kiosque operator-key create”.",
        "密钥以 kqo_ 开头。用“kiosque operator-key create”创建。";
    BY_LINK: "This link signs you in once, within a minute of its creation.",
        "此链接在创建后一分钟内可登录一次。";
    CONTINUE: "Continue to the console", "进入控制台";

    /// Returns the text of a message.
    fn notice_text(Notice) {
        KeyRefused: "This key is unknown or revoked. Check that you pasted all of it.",
            "密钥无效或已吊销。请检查是否完整粘贴。";
        LinkSpent: "This link was already used, or is more than a minute old. Create another one \
            with “kiosque console-link”.",
            "此链接已使用或已超过一分钟。请用“kiosque console-link”重新生成。";
        SignedOut: "You are signed out.", "您已退出。";
        SessionEnded: "Your session has ended. Sign in to continue.", "会话已结束。请重新登录。";
    }
}

/// The sign-in page. Its forms are posted to `/console/login`.
#[derive(Clone, Copy, Debug)]
pub struct SignIn<'a> {
    /// The language.
    pub language: Locale,
    /// The colours.
    pub theme: Theme,
    /// The path and query to go to after signing in: the field `return`.
    pub return_to: &'a str,
    /// The path and query of this page, with `return` and `link`. The other forms return to it.
    pub address: &'a str,
    /// The form.
    pub form: Form<'a>,
    /// A message above the form.
    pub notice: Option<Notice>,
}

/// A form of the sign-in page.
#[derive(Clone, Copy, Debug)]
pub enum Form<'a> {
    /// For a key: the field `key`.
    Key,
    /// A button that consumes the link with this token: the field `link`.
    Link(&'a str),
}

/// A message on the sign-in page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The key is unknown or revoked.
    KeyRefused,
    /// The link is used, too old or unknown.
    LinkSpent,
    /// The caller signed out.
    SignedOut,
    /// The session has ended.
    SessionEnded,
}

impl Notice {
    const fn role(self) -> &'static str {
        match self {
            Notice::SignedOut | Notice::SessionEnded => "status",
            _ => "alert",
        }
    }
}

/// Renders the sign-in.
pub fn page(view: &SignIn<'_>) -> String {
    let say = |text: Text| text.of(view.language);
    let body = html! {
        main.sign-in #main {
            (brand(Section::Overview))
            div.card {
                h1 { (say(SIGN_IN)) }
                @if let Some(notice) = view.notice {
                    p.notice role=(notice.role()) { (say(notice_text(notice))) }
                }
                form method="post" action="/console/login" {
                    input type="hidden" name="return" value=(view.return_to);
                    (fields(view.language, view.form))
                }
            }
            div.foot { (preferences(view.language, view.theme, view.address)) }
        }
    };
    document(view.language, view.theme, say(SIGN_IN), &body)
}

fn fields(language: Locale, form: Form<'_>) -> Markup {
    let say = |text: Text| text.of(language);
    match form {
        Form::Key => html! {
            label for="key" { (say(KEY)) }
            // A password field: browsers hide its text, and password managers offer to store it,
            // under this name.
            input type="text" name="user" value="kiosque" autocomplete="username" hidden;
            input #key type="password" name="key" required autofocus autocomplete="current-password"
                spellcheck="false" aria-describedby="key-hint";
            p.hint #key-hint { (say(KEY_HINT)) }
            button.primary { (say(SIGN_IN)) }
        },
        Form::Link(token) => html! {
            p { (say(BY_LINK)) }
            input type="hidden" name="link" value=(token);
            button.primary autofocus { (say(CONTINUE)) }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(form: Form<'_>, notice: Option<Notice>) -> String {
        let (language, theme) = (Locale::En, Theme::System);
        let (return_to, address) = ("/console/?a=1&b=\"", "/console/login?return=/console/");
        page(&SignIn { language, theme, return_to, address, form, notice })
    }

    #[test]
    fn a_key_is_posted_and_a_link_is_spent_by_a_button() {
        let by_key = rendered(Form::Key, Some(Notice::KeyRefused));
        assert!(by_key.contains("name=\"key\"") && by_key.contains("role=\"alert\""), "{by_key}");
        assert!(by_key.contains("value=\"/console/?a=1&amp;b=&quot;\""), "{by_key}");
        let by_link = rendered(Form::Link("t<o"), None);
        assert!(by_link.contains("name=\"link\" value=\"t&lt;o\""), "{by_link}");
        assert!(!by_link.contains("name=\"key\""), "{by_link}");
        for text in [by_key, by_link] {
            assert_eq!(text.matches("<h1").count(), 1);
            assert!(!text.contains("style=") && !text.contains("<script>"), "{text}");
        }
    }
}
