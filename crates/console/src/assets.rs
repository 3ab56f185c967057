//! The style sheet, the script and the icon. Each name has a hash of the content, so that browsers
//! may cache it indefinitely.

/// The directory of the assets on the server.
pub const DIRECTORY: &str = "/console/assets/";

/// The `Content-Security-Policy` of the pages.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

/// The header with which the script marks requests that no person caused.
pub const RENEWAL_HEADER: &str = "kiosque-renewal";

/// The style sheet.
pub const STYLE: Asset = Asset {
    stem: "console",
    extension: "css",
    content_type: "text/css; charset=utf-8",
    text: include_str!("../assets/console.css"),
};

/// The script, an ES module.
pub const SCRIPT: Asset = Asset {
    stem: "console",
    extension: "js",
    content_type: "text/javascript; charset=utf-8",
    text: include_str!("../assets/console.js"),
};

/// The icon of the site.
pub const ICON: Asset = Asset {
    stem: "kiosque",
    extension: "svg",
    content_type: "image/svg+xml",
    text: include_str!("../assets/kiosque.svg"),
};

/// A file that pages refer to.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    stem: &'static str,
    extension: &'static str,
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// The content.
    pub text: &'static str,
}

impl Asset {
    /// Returns the asset with a file name.
    pub fn named(name: &str) -> Option<Asset> {
        [STYLE, SCRIPT, ICON].into_iter().find(|asset| asset.name() == name)
    }

    /// Returns the file name, which changes with the content.
    pub fn name(self) -> String {
        format!("{}-{:016x}.{}", self.stem, fnv1a(self.text.as_bytes()), self.extension)
    }

    /// Returns the path on the server.
    pub fn path(self) -> String {
        format!("{DIRECTORY}{}", self.name())
    }
}

/// Returns the 64-bit FNV-1a hash of a content.
fn fnv1a(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assets_are_small_and_found_by_name() {
        for (asset, bytes_max) in [(STYLE, 16_384), (SCRIPT, 4_096), (ICON, 1_024)] {
            assert!(asset.text.len() <= bytes_max, "{}: {} bytes", asset.name(), asset.text.len());
            let found = Asset::named(&asset.name()).expect("an asset");
            assert_eq!(found.text, asset.text);
        }
        assert!(Asset::named("console.css").is_none());
    }

    #[test]
    fn the_name_changes_with_the_content() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        let changed = Asset { text: "a", ..STYLE };
        assert_ne!(changed.name(), STYLE.name());
    }
}
