//! Splits a JSON body into its elements as they arrive: the elements of an array, or successive
//! objects. Each element is then checked like a line.

use std::fmt;

use super::ndjson::{Excerpt, RawLine};

/// Splits bytes that arrive in buffers into the elements of an array, or into objects.
///
/// It only finds the end of each element; whether the element is valid JSON is decided when it is
/// parsed. An element has the same size limit as a line.
#[derive(Debug, Default)]
pub struct JsonSplitter {
    expected: Expected,
    element: Option<Element>,
    is_array: bool,
    /// The number of elements that have begun.
    elements: u64,
    /// The number of line ends so far.
    line_ends: u64,
}

/// What is expected next, outside of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Expected {
    /// An array, an object, or nothing more.
    #[default]
    Body,
    /// A further object, or nothing more.
    Object,
    /// An element, or the end of the array.
    ElementOrEnd,
    /// An element.
    Element,
    /// A comma, or the end of the array.
    CommaOrEnd,
    /// Nothing more.
    Nothing,
}

/// An element that has begun.
#[derive(Debug)]
struct Element {
    number: u64,
    text: Excerpt,
    /// The number of open brackets and braces.
    depth: usize,
    is_in_string: bool,
    /// Whether the previous character was a backslash in a string.
    is_escaped: bool,
}

/// Unexpected bytes between the elements of a JSON body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    expected: &'static str,
    /// The index of the previous element.
    after: Option<u64>,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JsonError { expected, after } = self;
        match after {
            Some(index) => {
                write!(f, "the body is not valid JSON: expected {expected} after [{index}]")
            }
            None => write!(f, "the body is not valid JSON: expected {expected}"),
        }
    }
}

impl JsonSplitter {
    /// Returns whether the body is an array.
    pub fn is_array(&self) -> bool {
        self.is_array
    }

    /// Consumes a buffer up to the end of its first element, or all of it. Returns the number of
    /// bytes consumed, and the element if it is complete. Its number is its position in the array
    /// from 1, or the line where it begins.
    ///
    /// After an error, no byte is consumed.
    pub fn push(&mut self, buffer: &[u8]) -> (usize, Result<Option<RawLine>, JsonError>) {
        let mut consumed = 0;
        while let Some(&byte) = buffer.get(consumed) {
            if let Some(element) = &mut self.element {
                let rest = &buffer[consumed..];
                let (length, has_ended) = element.extent(rest, self.is_array);
                element.text.add(&rest[..length]);
                consumed += length;
                self.line_ends += memchr::memchr_iter(b'\n', &rest[..length]).count() as u64;
                if has_ended && let Some(Element { number, text, .. }) = self.element.take() {
                    self.expected =
                        if self.is_array { Expected::CommaOrEnd } else { Expected::Object };
                    return (consumed, Ok(Some(text.line(number))));
                }
            } else if let Err(error) = self.between(byte) {
                return (consumed, Err(error));
            } else if self.element.is_none() {
                consumed += 1;
                self.line_ends += u64::from(byte == b'\n');
            }
        }
        (consumed, Ok(None))
    }

    /// Returns the last element, if it ends with the body.
    ///
    /// # Errors
    /// The body is cut off.
    pub fn finish(&mut self) -> Result<Option<RawLine>, JsonError> {
        match self.element.take() {
            Some(element) if element.depth == 0 && !element.is_in_string && !self.is_array => {
                Ok(Some(element.text.line(element.number)))
            }
            Some(element) => {
                self.element = Some(element);
                Err(self.error("the end of an element"))
            }
            None => match self.expected {
                Expected::Body | Expected::Object | Expected::Nothing => Ok(None),
                Expected::ElementOrEnd | Expected::CommaOrEnd => Err(self.error("`]`")),
                Expected::Element => Err(self.error("an element")),
            },
        }
    }

    /// Reads a byte between elements. An element's first byte is left to the element.
    fn between(&mut self, byte: u8) -> Result<(), JsonError> {
        self.expected = match (self.expected, byte) {
            (expected, b' ' | b'\t' | b'\r' | b'\n') => expected,
            // A byte order mark is ignored, as before lines.
            (Expected::Body, 0xEF | 0xBB | 0xBF) => Expected::Body,
            (Expected::Body, b'[') => {
                self.is_array = true;
                Expected::ElementOrEnd
            }
            (Expected::CommaOrEnd, b',') => Expected::Element,
            (Expected::CommaOrEnd | Expected::ElementOrEnd, b']') => Expected::Nothing,
            (Expected::CommaOrEnd, _) => return Err(self.error("`,` or `]`")),
            (Expected::Nothing, _) => return Err(self.error("nothing")),
            (Expected::Element | Expected::ElementOrEnd, b',' | b']') => {
                return Err(self.error("an element"));
            }
            (expected, _) => {
                self.elements += 1;
                let number = if self.is_array { self.elements } else { self.line_ends + 1 };
                self.element = Some(Element::at(number));
                expected
            }
        };
        Ok(())
    }

    fn error(&self, expected: &'static str) -> JsonError {
        let ended = self.elements - u64::from(self.element.is_some());
        let after = if self.is_array { ended.checked_sub(1) } else { None };
        JsonError { expected, after }
    }
}

impl Element {
    fn at(number: u64) -> Element {
        let text = Excerpt::default();
        Element { number, text, depth: 0, is_in_string: false, is_escaped: false }
    }

    /// Returns the number of bytes that belong to the element, and whether it ends after them.
    fn extent(&mut self, bytes: &[u8], is_in_array: bool) -> (usize, bool) {
        for (at, byte) in bytes.iter().enumerate() {
            if self.is_in_string {
                match byte {
                    _ if self.is_escaped => self.is_escaped = false,
                    b'\\' => self.is_escaped = true,
                    b'"' => self.is_in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.is_in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (at + 1, true);
                    }
                }
                // Anything that is not an object is rejected when it is parsed.
                b',' | b']' if self.depth == 0 && is_in_array => return (at, true),
                b'\n' if self.depth == 0 => return (at, true),
                _ => {}
            }
        }
        (bytes.len(), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ndjson::LINE_MAX_BYTES;

    type Split = (Vec<(u64, String)>, Option<String>);

    /// Returns the elements of a body that arrives in pieces, and the error that ends it.
    fn split(body: &[u8], size: usize) -> Split {
        let mut splitter = JsonSplitter::default();
        let mut elements = Vec::new();
        let mut add = |line: RawLine| {
            let text = String::from_utf8(line.text).expect("text");
            elements.push((line.number, text.trim().to_owned()));
        };
        for mut piece in body.chunks(size) {
            while !piece.is_empty() {
                let (consumed, element) = splitter.push(piece);
                piece = &piece[consumed..];
                match element {
                    Ok(element) => element.into_iter().for_each(&mut add),
                    Err(error) => {
                        assert_eq!(splitter.push(piece), (0, Err(error)), "an error remains one");
                        return (elements, Some(error.to_string()));
                    }
                }
            }
        }
        let ended = splitter.finish();
        match ended {
            Ok(last) => last.into_iter().for_each(&mut add),
            Err(error) => return (elements, Some(error.to_string())),
        }
        (elements, None)
    }

    fn check(body: &str, elements: &[(u64, &str)], error: Option<&str>) {
        let elements = elements.iter().map(|(at, text)| (*at, (*text).to_owned())).collect();
        let error = error.map(|text| format!("the body is not valid JSON: expected {text}"));
        let expected = (elements, error);
        for size in 1..=body.len().max(1) {
            assert_eq!(split(body.as_bytes(), size), expected, "{body} in pieces of {size}");
        }
    }

    #[test]
    fn the_elements_of_an_array_are_found_however_it_arrives() {
        check("", &[], None);
        check(" [ ] \n", &[], None);
        check("[{}]", &[(1, "{}")], None);
        let texts = r#"{"a":"]}\"[{,\\"}"#;
        check(
            &format!(
                "\u{feff}\r\n[\n {texts} ,\n{{\"b\":\n[[1,2],{{}}]}},[1,[2]],7, \"x,]\" ,nul]"
            ),
            &[
                (1, texts),
                (2, "{\"b\":\n[[1,2],{}]}"),
                (3, "[1,[2]]"),
                (4, "7"),
                (5, "\"x,]\""),
                (6, "nul"),
            ],
            None,
        );
    }

    #[test]
    fn objects_may_follow_each_other_and_have_line_breaks() {
        check("{\n \"a\": 1\n}\n", &[(1, "{\n \"a\": 1\n}")], None);
        check(
            "{}\n\n{\"a\":[\n]}{}\nnothing\n{}",
            &[(1, "{}"), (3, "{\"a\":[\n]}"), (4, "{}"), (5, "nothing"), (6, "{}")],
            None,
        );
        check("7", &[(1, "7")], None);
    }

    #[test]
    fn what_follows_no_element_is_an_error_that_names_the_one_before() {
        for (body, error) in [
            ("[", "`]`"),
            ("[,", "an element"),
            ("[{}", "`]` after [0]"),
            ("[{},", "an element after [0]"),
            ("[{},]", "an element after [0]"),
            ("[{} {}]", "`,` or `]` after [0]"),
            ("[{}}", "`,` or `]` after [0]"),
            ("[{}] [", "nothing after [0]"),
            ("[{},{\"a\"", "the end of an element after [0]"),
            ("[{},\"a", "the end of an element after [0]"),
        ] {
            let first: &[_] = if body.contains("{}") { &[(1, "{}")] } else { &[] };
            check(body, first, Some(error));
        }
        check("{\"a\": \"", &[], Some("the end of an element"));
        check("{}{\"a\": \"", &[(1, "{}")], Some("the end of an element"));
    }

    #[test]
    fn of_an_element_over_the_limit_an_excerpt_is_held() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(2 * LINE_MAX_BYTES));
        let body = format!("[{long},{{}}]");
        let mut splitter = JsonSplitter::default();
        let (consumed, first) = splitter.push(body.as_bytes());
        let first = first.expect("JSON").expect("an element");
        assert_eq!((first.number, first.too_long), (1, Some(long.len())));
        assert!(first.text.len() < LINE_MAX_BYTES);
        let (_, second) = splitter.push(&body.as_bytes()[consumed..]);
        assert_eq!(second.expect("JSON").expect("an element").text, b"{}");
    }
}
