//! Files and streams that are read as a whole, up to a limit: the file of a flag may be a device
//! without an end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The largest content that is read. Passwords and sessions are far smaller; the certificates that
/// a system trusts take a quarter of a megabyte.
const CONTENT_MAX_BYTES: usize = 4 << 20;

/// Returns the content of a file or of a pipe.
///
/// # Errors
/// It cannot be read, or has more than 4 MiB.
pub fn read_file(file: &Path) -> io::Result<Vec<u8>> {
    read_bounded(File::open(file)?)
}

/// Returns the content of a text file or of a pipe.
///
/// # Errors
/// As [`read_file`]; or it is not UTF-8.
pub fn read_text_file(file: &Path) -> io::Result<String> {
    read_text_file_up_to(file, CONTENT_MAX_BYTES)
}

/// Returns the content of a text file or of a pipe, with another limit.
///
/// # Errors
/// As [`read_text_file`].
pub fn read_text_file_up_to(file: &Path, max_bytes: usize) -> io::Result<String> {
    let text = String::from_utf8(read_up_to(File::open(file)?, max_bytes)?);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Reads a source to its end.
///
/// # Errors
/// It cannot be read, or has more than 4 MiB.
pub fn read_bounded(source: impl Read) -> io::Result<Vec<u8>> {
    read_up_to(source, CONTENT_MAX_BYTES)
}

fn read_up_to(source: impl Read, max_bytes: usize) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    source.take(max_bytes as u64 + 1).read_to_end(&mut content)?;
    if content.len() > max_bytes {
        let reason = format!(
            "it has more than {max_bytes} bytes, the limit; check that it is the intended one"
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_read_up_to_the_limit() {
        let of_bytes = |bytes: usize| read_bounded(io::repeat(b'a').take(bytes as u64));
        let whole = of_bytes(CONTENT_MAX_BYTES).expect("the largest content");
        assert_eq!(whole.len(), CONTENT_MAX_BYTES);
        let reason = "it has more than 4194304 bytes, the limit; check that it is the intended one";
        let too_large = of_bytes(CONTENT_MAX_BYTES + 1).expect_err("too large");
        assert_eq!(too_large.to_string(), reason);
    }

    #[test]
    fn a_file_that_cannot_be_read_keeps_its_reason() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        let refused = |file: &Path| read_text_file(file).expect_err("no content").kind();
        assert_eq!(refused(directory), io::ErrorKind::IsADirectory);
        assert_eq!(refused(&directory.join("absent")), io::ErrorKind::NotFound);
    }
}
