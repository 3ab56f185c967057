//! The source of a request: the peer of its connection, or the address that a trusted proxy
//! reports.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use ipnet::{IpNet, Ipv4Net};

/// Number of known sources per account; the newest are kept.
pub const KNOWN_SOURCES_MAX: i64 = 32;
/// Time for which a source stays known after its last login: 90 days.
pub const KNOWN_SOURCE_AGE_MS: i64 = 90 * 86_400_000;

/// Length of the prefix that identifies an IPv6 customer, who may choose the remaining bits.
const V6_PREFIX_BITS: u32 = 64;
const MAPPED_BITS: u8 = 96;

/// The address that a request comes from. IPv4-mapped IPv6 addresses are converted to IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(IpAddr);

impl Source {
    /// Returns the source with this address.
    pub fn of(address: IpAddr) -> Source {
        Source(address.to_canonical())
    }

    /// Returns the address or prefix that rate limits apply to.
    pub fn prefix(self) -> SourcePrefix {
        match self.0 {
            IpAddr::V4(_) => SourcePrefix(self.0),
            IpAddr::V6(whole) => {
                let prefix = whole.to_bits() & (u128::MAX << (128 - V6_PREFIX_BITS));
                SourcePrefix(Ipv6Addr::from_bits(prefix).into())
            }
        }
    }

    /// Returns the same, but one prefix for all loopback addresses: any program on this machine may
    /// use any of them.
    #[must_use]
    pub fn prefix_with_one_loopback(self) -> SourcePrefix {
        if self.0.is_loopback() { SourcePrefix(Ipv4Addr::LOCALHOST.into()) } else { self.prefix() }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Source {
    type Err = std::net::AddrParseError;

    fn from_str(text: &str) -> Result<Source, Self::Err> {
        text.parse().map(Source::of)
    }
}

/// The unit of rate limiting by source: an IPv4 address, or the /64 prefix of an IPv6 address, all
/// of which belongs to one customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourcePrefix(IpAddr);

impl fmt::Display for SourcePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => address.fmt(f),
            IpAddr::V6(prefix) => write!(f, "{prefix}/{V6_PREFIX_BITS}"),
        }
    }
}

/// The proxies whose `X-Forwarded-For` header is trusted; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Parses addresses and CIDR ranges.
    ///
    /// # Errors
    /// The first text that is neither is returned in a message.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<TrustedProxies, String> {
        let ranges = texts.into_iter().map(|text| {
            let text = text.trim();
            range(text).ok_or_else(|| format!("{text:?} is not an address or a CIDR range"))
        });
        ranges.collect::<Result<_, _>>().map(TrustedProxies)
    }

    /// Returns the source of a request from `peer` with these `X-Forwarded-For` values, in the
    /// order of the headers.
    ///
    /// Each proxy appends the address of its client, so the values are read from the right: the
    /// first address that is not trusted is the source. At a malformed entry the last valid address
    /// is the source, since no trusted proxy confirms the entries before it.
    pub fn source<'a>(
        &self,
        peer: IpAddr,
        forwarded: impl DoubleEndedIterator<Item = &'a [u8]>,
    ) -> Source {
        let mut source = Source::of(peer);
        let entries = forwarded.rev().flat_map(|value| value.rsplit(|byte| *byte == b','));
        for entry in entries {
            if !self.trusts(source) {
                break;
            }
            let Some(client) = address(entry) else { break };
            source = Source::of(client);
        }
        source
    }

    /// Returns whether this is the address of a trusted proxy.
    pub fn trusts(&self, source: Source) -> bool {
        self.0.iter().any(|range| range.contains(&source.0))
    }
}

/// Parses addresses and CIDR ranges, separated by commas.
impl FromStr for TrustedProxies {
    type Err = String;

    fn from_str(text: &str) -> Result<TrustedProxies, String> {
        TrustedProxies::parse(text.split(',').filter(|_| !text.trim().is_empty()))
    }
}

fn range(text: &str) -> Option<IpNet> {
    let given: IpNet = text.parse().ok().or_else(|| text.parse().ok().map(IpAddr::into))?;
    // Mapped ranges become IPv4 ranges, as do the sources that are compared with them.
    match given {
        IpNet::V6(six) => match six.network().to_ipv4_mapped() {
            Some(four) => {
                let bits = six.prefix_len().saturating_sub(MAPPED_BITS);
                Ipv4Net::new(four, bits).ok().map(IpNet::V4)
            }
            None => Some(given),
        },
        IpNet::V4(_) => Some(given),
    }
}

/// Parses an entry of the header: an address, with or without brackets and port.
fn address(entry: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(entry).ok()?.trim_matches([' ', '\t']);
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    bare.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_prefix_is_an_ipv4_address_or_the_64_of_an_ipv6_one() {
        for (address, source, prefix) in [
            ("192.0.2.7", "192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:db8:1:2::", "2001:db8:1:2::", "2001:db8:1:2::/64"),
            ("::1", "::1", "::/64"),
        ] {
            let parsed: Source = address.parse().expect("an address");
            assert_eq!(
                (parsed.to_string().as_str(), parsed.prefix().to_string().as_str()),
                (source, prefix)
            );
        }
    }

    /// The source of a login (LIM-7): the header counts only from trusted proxies.
    #[test]
    fn the_first_from_the_right_that_is_not_trusted_is_the_source() {
        let near = "10.0.0.0/8,192.0.2.1,2001:db8:ffff::/48";
        for (trusted, peer, forwarded, source) in [
            // Without trust the header is ignored.
            ("", "10.0.0.1", &["198.51.100.9"][..], "10.0.0.1"),
            (near, "203.0.113.5", &["198.51.100.9"], "203.0.113.5"),
            // With it, the first address that is not trusted counts, regardless of what precedes
            // it.
            (near, "10.0.0.1", &[], "10.0.0.1"),
            (near, "10.0.0.1", &["198.51.100.9"], "198.51.100.9"),
            (near, "10.0.0.1", &["1.2.3.4, 198.51.100.9"], "198.51.100.9"),
            (near, "10.0.0.1", &["1.2.3.4, 198.51.100.9, 10.9.9.9,192.0.2.1"], "198.51.100.9"),
            (near, "10.0.0.1", &["1.2.3.4", "198.51.100.9", "10.9.9.9"], "198.51.100.9"),
            (near, "10.0.0.1", &["10.1.1.1,10.2.2.2"], "10.1.1.1"),
            (near, "192.0.2.2", &["198.51.100.9"], "192.0.2.2"),
            // Malformed: the last valid one.
            (near, "10.0.0.1", &["198.51.100.9, unknown"], "10.0.0.1"),
            (near, "10.0.0.1", &["198.51.100.9, , 10.9.9.9"], "10.9.9.9"),
            (near, "10.0.0.1", &["198.51.100.9,"], "10.0.0.1"),
            (near, "10.0.0.1", &[""], "10.0.0.1"),
            (near, "10.0.0.1", &["198.51.100.256"], "10.0.0.1"),
            // Ports, brackets and mapped addresses are alternative spellings.
            (near, "10.0.0.1", &["198.51.100.9:4711"], "198.51.100.9"),
            (near, "10.0.0.1", &["[2001:db8::9]:4711"], "2001:db8::9"),
            (near, "10.0.0.1", &["[2001:db8::9]"], "2001:db8::9"),
            (near, "2001:db8:ffff::1", &["2001:db8::9"], "2001:db8::9"),
            (near, "::ffff:10.0.0.1", &["::ffff:198.51.100.9"], "198.51.100.9"),
            ("::ffff:10.0.0.0/104", "10.0.0.1", &["198.51.100.9"], "198.51.100.9"),
            ("::ffff:10.0.0.0/104", "11.0.0.1", &["198.51.100.9"], "11.0.0.1"),
            ("0.0.0.0/0,::/0", "10.0.0.1", &["1.2.3.4, ::2"], "1.2.3.4"),
        ] {
            let proxies: TrustedProxies = trusted.parse().expect("ranges");
            let values = forwarded.iter().map(|value| value.as_bytes());
            let found = proxies.source(peer.parse().expect("an address"), values);
            assert_eq!(found.to_string(), source, "{trusted} {peer} {forwarded:?}");
        }
    }

    #[test]
    fn an_invalid_address_is_named() {
        for wrong in ["proxy", "10.0.0.0/33", "", "10.0.0.1:80"] {
            let error = TrustedProxies::parse([" 10.0.0.1", wrong]).expect_err("no range");
            assert!(error.contains(&format!("{wrong:?}")), "{error}");
        }
    }

    proptest! {
        /// The entry that the proxy appends counts, for every header that a caller sends.
        #[test]
        fn a_caller_cannot_choose_its_source(sent in prop::collection::vec(any::<u8>(), 0..60)) {
            let proxies = TrustedProxies::parse(["10.0.0.0/8"]).expect("a range");
            let values = [sent.as_slice(), b"198.51.100.9"];
            let source = proxies.source(IpAddr::from([10, 0, 0, 1]), values.into_iter());
            prop_assert_eq!(source.to_string(), "198.51.100.9");
        }
    }
}
