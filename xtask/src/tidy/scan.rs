//! A Rust file taken apart into code, string literals and comments: just enough of a lexer that
//! no rule mistakes one for the other.

/// A file's parts.
pub(crate) struct Scan {
    /// The text with each literal and comment blanked; every line and column keeps its position.
    pub(crate) code: String,
    /// The contents of the string literals.
    pub(crate) literals: Vec<Piece>,
    /// The comments, with their slashes.
    pub(crate) comments: Vec<Piece>,
}

/// A part of the text and the line on which it begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The part.
    pub(crate) text: String,
}

/// Takes a file apart.
pub(crate) fn scan(text: &str) -> Scan {
    let mut scanner = Scanner {
        chars: text.chars().collect(),
        at: 0,
        line: 1,
        scan: Scan { code: String::new(), literals: Vec::new(), comments: Vec::new() },
    };
    while let Some(next) = scanner.peek(0) {
        match (next, scanner.peek(1)) {
            ('/', Some('/')) => scanner.line_comment(),
            ('/', Some('*')) => scanner.block_comment(),
            ('"', _) => scanner.string(),
            ('\'', _) => scanner.quote(),
            _ if is_word(next) => scanner.word(),
            _ => scanner.keep(1),
        }
    }
    scanner.scan
}

/// Returns whether the character can be part of a name.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

struct Scanner {
    chars: Vec<char>,
    at: usize,
    line: usize,
    scan: Scan,
}

impl Scanner {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Returns how many characters from `from` on are not yet at the end of the text or at `end`.
    fn until(&self, from: usize, end: impl Fn(usize) -> bool) -> usize {
        (from..self.chars.len() - self.at).find(|ahead| end(*ahead)).unwrap_or(self.rest())
    }

    fn rest(&self) -> usize {
        self.chars.len() - self.at
    }

    fn keep(&mut self, count: usize) {
        self.take(count, |c| c);
    }

    fn blank(&mut self, count: usize) {
        self.take(count, |c| if c == '\n' { c } else { ' ' });
    }

    fn take(&mut self, count: usize, shown: impl Fn(char) -> char) {
        let count = count.min(self.rest());
        for c in &self.chars[self.at..self.at + count] {
            self.line += usize::from(*c == '\n');
            self.scan.code.push(shown(*c));
        }
        self.at += count;
    }

    fn piece(&self, from: usize, to: usize) -> Piece {
        let end = self.chars.len();
        let (from, to) = ((self.at + from).min(end), (self.at + to).min(end));
        Piece { line: self.line, text: self.chars[from..to.max(from)].iter().collect() }
    }

    fn line_comment(&mut self) {
        let length = self.until(0, |ahead| self.peek(ahead) == Some('\n'));
        self.scan.comments.push(self.piece(0, length));
        self.blank(length);
    }

    /// Block comments nest.
    fn block_comment(&mut self) {
        let (mut depth, mut length) = (1, 2);
        while depth > 0 && length < self.rest() {
            match (self.peek(length), self.peek(length + 1)) {
                (Some('/'), Some('*')) => (depth, length) = (depth + 1, length + 2),
                (Some('*'), Some('/')) => (depth, length) = (depth - 1, length + 2),
                _ => length += 1,
            }
        }
        self.scan.comments.push(self.piece(0, length));
        self.blank(length);
    }

    fn string(&mut self) {
        let mut length = 1;
        while length < self.rest() && self.peek(length) != Some('"') {
            length += if self.peek(length) == Some('\\') { 2 } else { 1 };
        }
        self.scan.literals.push(self.piece(1, length));
        self.blank(length + 1);
    }

    /// A name, a number, or the prefix of a raw string and then the string itself.
    fn word(&mut self) {
        let length = self.until(0, |ahead| !self.peek(ahead).is_some_and(is_word));
        let word = self.piece(0, length).text;
        self.keep(length);
        if !matches!(word.as_str(), "r" | "br" | "cr") {
            return;
        }
        let hashes = self.until(0, |ahead| self.peek(ahead) != Some('#'));
        if self.peek(hashes) == Some('"') {
            self.raw_string(hashes);
        }
    }

    fn raw_string(&mut self, hashes: usize) {
        let closes = |ahead: usize| {
            self.peek(ahead) == Some('"')
                && (1..=hashes).all(|hash| self.peek(ahead + hash) == Some('#'))
        };
        let length = self.until(hashes + 1, closes);
        self.scan.literals.push(self.piece(hashes + 1, length));
        self.blank(length + 1 + hashes);
    }

    /// A character literal, or the tick of a lifetime.
    fn quote(&mut self) {
        match (self.peek(1), self.peek(2)) {
            (Some('\\'), _) => {
                let length = self.until(3, |ahead| self.peek(ahead) == Some('\''));
                self.blank(length + 1);
            }
            (Some(_), Some('\'')) => self.blank(3),
            _ => self.keep(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(text: &str) -> Vec<String> {
        scan(text).literals.into_iter().map(|piece| piece.text).collect()
    }

    #[test]
    fn strings_of_every_kind_are_taken_out() {
        let text =
            r####"a("x\"y", b"bytes", r"raw\", r#"with "quotes" {"#, br##"a"#b"##, c"c")"####;
        let expected = [r#"x\"y"#, "bytes", r"raw\", r#"with "quotes" {"#, r##"a"#b"##, "c"];
        assert_eq!(literals(text), expected);
        assert!(!scan(text).code.contains('{'));
        assert_eq!(scan(text).code.chars().count(), text.chars().count());
    }

    #[test]
    fn characters_are_no_lifetimes_and_names_no_raw_strings() {
        let text = r##"fn f<'a>(r#type: &'a str) { g('{', '\'', '"', '\u{7d}', b'}'); h("s") }"##;
        let scan = scan(text);
        assert_eq!(scan.literals, [Piece { line: 1, text: "s".to_owned() }]);
        assert_eq!(scan.code.matches(['{', '}']).count(), 2, "{}", scan.code);
        assert!(scan.code.contains("fn f<'a>(r#type: &'a str)"));
    }

    #[test]
    fn comments_are_taken_out_and_lines_stay() {
        let text = "a; // one \"not a string\n/* two /* nested { */ }\n*/ b; \"\n\"\nc // three";
        let scan = scan(text);
        let lines: Vec<usize> = scan.comments.iter().map(|comment| comment.line).collect();
        assert_eq!(lines, [1, 2, 5]);
        assert_eq!(scan.literals, [Piece { line: 3, text: "\n".to_owned() }]);
        let code: Vec<&str> = scan.code.lines().map(str::trim).collect();
        assert_eq!(code, ["a;", "", "b;", "", "c"]);
    }

    #[test]
    fn a_text_that_ends_too_early_ends_the_scan() {
        for text in ["\"", "\"\\", "r#\"x", "/* /*", "'\\", "'", "//", "r##"] {
            assert_eq!(scan(text).code.chars().count(), text.chars().count(), "{text}");
        }
    }
}
