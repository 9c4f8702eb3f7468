//! The address of an endpoint: https anywhere, plain http only where nobody else is on the line.

use std::net::IpAddr;

use reqwest::Url;

/// Checks a provider's `base_url`.
///
/// # Errors
/// The problem, when the address is not an absolute https URL, or http on loopback, or (with `local`) http on a
/// private address; or when it has a user, a password, a query or a fragment.
pub(super) fn check(address: &str, local: bool) -> Result<(), &'static str> {
    const ABSOLUTE: &str = "must be an absolute https URL";
    // The parser drops tabs and line ends and takes a backslash for a slash; an author meant none of these.
    if address.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return Err("must not have white space, control characters or backslashes");
    }
    let url = Url::parse(address).map_err(|_| ABSOLUTE)?;
    let scheme = url.scheme();
    let absolute = address.get(scheme.len()..).is_some_and(|rest| rest.starts_with("://"));
    if !absolute || !matches!(scheme, "http" | "https") {
        return Err(ABSOLUTE);
    }
    let host = url.host_str().filter(|h| !h.is_empty()).ok_or(ABSOLUTE)?;
    if has_user(address) || !url.username().is_empty() || url.password().is_some() {
        return Err("must not have a user or password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must not have a query or fragment");
    }
    if scheme == "https" || is_loopback(host) || (local && is_private(host)) {
        return Ok(());
    }
    Err("must be https (http only on loopback, or with local = TRUE on a private address)")
}

/// An `@` in the authority, also with an empty user that the parser drops.
fn has_user(address: &str) -> bool {
    let authority = address.split_once("://").map_or("", |(_, rest)| rest);
    authority.split(['/', '?', '#']).next().is_some_and(|a| a.contains('@'))
}

fn ip(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    bare.parse::<IpAddr>().ok().map(|a| a.to_canonical())
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || ip(host).is_some_and(|a| a.is_loopback())
}

/// RFC 1918 and RFC 4193; link-local is not private, since cloud metadata services live there.
fn is_private(host: &str) -> bool {
    match ip(host) {
        Some(IpAddr::V4(a)) => a.is_private(),
        Some(IpAddr::V6(a)) => a.is_unique_local(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn https_anywhere_and_http_on_loopback() {
        for fine in [
            "https://api.example.com",
            "https://api.example.com/v1",
            "http://127.0.0.1:8080",
            "http://127.9.9.9",
            "http://localhost:8080/v1",
            "http://[::1]:8080",
            "HTTPS://h",
        ] {
            assert_eq!(check(fine, false), Ok(()), "{fine}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for bad in [
            "http://example.com",
            "ftp://example.com",
            "not a url",
            "",
            "https:example.com",
            "https://u:p@example.com",
            "https://@example.com",
            "https://example.com?x=1",
            "https://example.com?",
            "https://example.com#top",
            "https://example.com\n",
            "https:\\\\example.com",
            "http://localhost.example.com",
            "http://10.0.0.5",
            "/v1",
            "https://",
        ] {
            assert!(check(bad, false).is_err(), "{bad}");
        }
    }

    #[test]
    fn local_opens_private_addresses_only() {
        for fine in ["http://10.0.0.5", "http://192.168.1.2:11434/v1", "http://172.16.0.1", "http://[fd00::1]"] {
            assert_eq!(check(fine, true), Ok(()), "{fine}");
        }
        for bad in ["http://example.com", "http://169.254.169.254", "http://8.8.8.8", "http://box.lan"] {
            assert!(check(bad, true).is_err(), "{bad}");
        }
    }
}
