//! Where a request goes, and with which headers.

use bytes::Bytes;

use crate::error::Error;
use crate::value::{Map, Value};

use super::compat::Compat;
use super::http::HttpRequest;

/// A wire: the prefix of an address without a path, and the path of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Api {
    /// Its name in provider specs.
    pub name: &'static str,
    prefix: &'static str,
    path: &'static str,
}

/// The wires that are built.
pub const APIS: &[Api] = &[Api { name: "openai-completions", prefix: "/v1", path: "/chat/completions" }];

/// Headers that carry a key.
pub const KEY_HEADERS: &[&str] = &["authorization", "x-api-key", "api-key", "x-goog-api-key"];

/// A provider, ready for requests. `Debug` shows no header value and no key.
#[derive(Clone)]
pub struct Endpoint {
    /// The provider's id.
    pub provider: String,
    /// The wire.
    pub api: Api,
    /// Where requests go.
    pub url: String,
    /// How the host differs.
    pub compat: Compat,
    /// The provider's own headers.
    pub headers: Vec<(String, String)>,
    /// The key, when the host needs one.
    pub key: Option<String>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(n, _)| n.as_str()).collect();
        f.debug_struct("Endpoint")
            .field("provider", &self.provider)
            .field("api", &self.api.name)
            .field("url", &self.url)
            .field("compat", &self.compat)
            .field("headers", &headers)
            .field("key", &self.key.is_some())
            .finish()
    }
}

impl Endpoint {
    /// An endpoint without headers and key. `compat` are the spec's flags, laid over what is known of the host.
    ///
    /// # Errors
    /// `InvalidSpec` for a wire that is not built, an address that is no http(s) one, or a wrong flag.
    pub fn new(provider: &str, api: &str, base_url: &str, compat: &Map<String, Value>) -> Result<Endpoint, Error> {
        let api = *APIS.iter().find(|a| a.name == api).ok_or_else(|| {
            let known: Vec<&str> = APIS.iter().map(|a| a.name).collect();
            Error::spec("provider", provider, "api", format!("must be one of {}", known.join(", ")))
        })?;
        let bad = || Error::spec("provider", provider, "base_url", "must be an absolute http or https address");
        let base = reqwest::Url::parse(base_url).map_err(|_| bad())?;
        let host = base.host_str().filter(|_| matches!(base.scheme(), "http" | "https")).ok_or_else(bad)?;
        if !base.username().is_empty()
            || base.password().is_some()
            || base.query().is_some()
            || base.fragment().is_some()
        {
            return Err(Error::spec(
                "provider",
                provider,
                "base_url",
                "must have no user, password, query or fragment",
            ));
        }
        let mut flags = Compat::detect(provider, host);
        flags.apply(provider, compat)?;
        Ok(Endpoint {
            provider: provider.to_owned(),
            api,
            url: address(&base, api),
            compat: flags,
            headers: Vec::new(),
            key: None,
        })
    }

    /// Sets the provider's own headers. One that carries a key replaces the key.
    ///
    /// # Errors
    /// `InvalidSpec` for a name that is no token (RFC 9110, section 5.6.2), a repeated one, or a value with a line
    /// break or NUL. No value is shown.
    pub fn with_headers(mut self, headers: Vec<(String, String)>) -> Result<Endpoint, Error> {
        for (i, (name, value)) in headers.iter().enumerate() {
            let wrong =
                |problem: &str| Err(Error::spec("provider", &self.provider, &format!("headers${name}"), problem));
            if name.is_empty() || !name.bytes().all(is_token) {
                return wrong("is not a header name");
            }
            if headers.iter().take(i).any(|(n, _)| n.eq_ignore_ascii_case(name)) {
                return wrong("is given twice");
            }
            if value.contains(['\r', '\n', '\0']) {
                return wrong("must have no line break and no NUL");
            }
        }
        self.headers = headers;
        Ok(self)
    }

    /// Sets the key. An empty one is none: `Bearer` without a token is refused by gateways that need no key.
    pub fn with_key(mut self, key: Option<String>) -> Endpoint {
        self.key = key.filter(|k| !k.trim().is_empty());
        self
    }

    /// The request with this body. All header values of the provider count as secrets.
    pub fn request(&self, body: String) -> HttpRequest {
        let own = |name: &str| self.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        let mut headers: Vec<(String, String)> = Vec::new();
        for (name, value) in [("content-type", "application/json"), ("accept", "text/event-stream, application/json")] {
            if !own(name) {
                headers.push((name.to_owned(), value.to_owned()));
            }
        }
        let mut secret: Vec<String> = self.headers.iter().map(|(n, _)| n.clone()).collect();
        if let Some(key) = self.key.as_ref().filter(|_| !KEY_HEADERS.iter().any(|h| own(h))) {
            let name = self.compat.auth_header.clone();
            let value = if name == "authorization" { format!("Bearer {key}") } else { key.clone() };
            secret.push(name.clone());
            headers.push((name, value));
        }
        // Suppressed: some hosts answer it with an error, and none needs it.
        headers.extend(self.headers.iter().filter(|(n, _)| !n.eq_ignore_ascii_case("expect")).cloned());
        HttpRequest {
            method: reqwest::Method::POST,
            url: self.url.clone(),
            headers,
            body: Bytes::from(body),
            secret_headers: secret,
        }
    }
}

fn address(base: &reqwest::Url, api: Api) -> String {
    let text = base.as_str().trim_end_matches('/');
    let prefix = if base.path().trim_matches('/').is_empty() { api.prefix } else { "" };
    format!("{text}{prefix}{}", api.path)
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn endpoint(base: &str) -> Endpoint {
        Endpoint::new("p", "openai-completions", base, &Map::new()).unwrap()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn an_address_without_a_path_gets_the_prefix() {
        for (base, url) in [
            ("https://h", "https://h/v1/chat/completions"),
            ("https://h/", "https://h/v1/chat/completions"),
            ("https://h/v1", "https://h/v1/chat/completions"),
            ("https://h/api/openai/", "https://h/api/openai/chat/completions"),
            ("http://[::1]:8080", "http://[::1]:8080/v1/chat/completions"),
        ] {
            assert_eq!(endpoint(base).url, url);
        }
    }

    #[test]
    fn a_wrong_address_or_wire_is_a_spec_error() {
        for base in ["h", "ftp://h", "https://u:p@h", "https://h?k=1", "https://h#f"] {
            assert!(Endpoint::new("p", "openai-completions", base, &Map::new()).is_err(), "{base}");
        }
        assert!(Endpoint::new("p", "nothing", "https://h", &Map::new()).is_err());
    }

    #[test]
    fn the_key_goes_where_the_host_wants_it_or_nowhere() {
        let header = |e: &Endpoint, name: &str| {
            e.request(String::new()).headers.into_iter().find(|(n, _)| n == name).map(|(_, v)| v)
        };
        let bearer = endpoint("https://h").with_key(Some("k".into()));
        assert_eq!(header(&bearer, "authorization").as_deref(), Some("Bearer k"));
        assert_eq!(header(&endpoint("https://h").with_key(Some(String::new())), "authorization"), None);
        let azure = endpoint("https://x.openai.azure.com").with_key(Some("k".into()));
        assert_eq!(header(&azure, "api-key").as_deref(), Some("k"));
        let own = bearer.with_headers(vec![pair("X-API-Key", "mine")]).unwrap();
        assert_eq!(header(&own, "authorization"), None);
    }

    #[test]
    fn header_names_and_values_are_checked_and_never_shown() {
        for headers in [
            vec![pair("a b", "secretvalue")],
            vec![pair("a", "x\r\nsecretvalue: 1")],
            vec![pair("a", "1"), pair("A", "secretvalue")],
        ] {
            let error = endpoint("https://h").with_headers(headers).unwrap_err().to_string();
            assert!(!error.contains("secretvalue"), "{error}");
        }
    }

    #[test]
    fn b89_debug_shows_no_key() {
        let e = endpoint("https://h")
            .with_key(Some("topsecretkey".into()))
            .with_headers(vec![pair("x-a", "topsecretkey")])
            .unwrap();
        assert!(!format!("{e:?} {:?}", e.request("{}".into())).contains("topsecretkey"));
    }
}
