//! Which addresses are on the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// True for an address that anybody may reach: not this machine, its networks, or a block kept for special use
/// (the special-purpose registries of RFC 6890). An IPv6 address that stands for an IPv4 one counts as that.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => match embedded(v6) {
            Some(v4) => is_public_v4(v4),
            None => is_public_v6(v6),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        [0 | 10 | 127, ..] => true,
        [100, second, ..] => (64..128).contains(&second),
        [169, 254, ..] | [192, 168, ..] => true,
        [172, second, ..] => (16..32).contains(&second),
        [192, 0, 0 | 2, _] | [192, 88, 99, _] => true,
        [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => true,
        [first, ..] => first >= 224,
    };
    !special
}

/// Only 2000::/3 is handed out; some blocks of it are not for the public.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let special = match (first, second) {
        (0x2001, second) => second < 0x0200 || second == 0x0db8,
        (0x3fff, second) => second < 0x1000,
        _ => false,
    };
    (0x2000..0x4000).contains(&first) && !special
}

/// The IPv4 address that a mapped, compatible, translated (NAT64) or 6to4 address leads to.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => from(high, low),
        [0x2002, high, low, ..] => from(high, low),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses_are_admitted() {
        for fine in [
            "8.8.8.8",
            "93.184.216.34",
            "100.63.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "2606:2800:220:1::1",
            "2001:4860::8888",
        ] {
            assert!(is_public(fine.parse().unwrap()), "{fine}");
        }
        for carried in ["::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"] {
            assert!(is_public(carried.parse().unwrap()), "{carried}");
        }
    }

    #[test]
    fn everything_else_is_not() {
        for bad in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.5",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.1.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "100::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
        ] {
            assert!(!is_public(bad.parse().unwrap()), "{bad}");
        }
    }
}
