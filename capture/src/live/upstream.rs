//! Where requests go: the base URL of each API, and the client that speaks to it.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Uri;
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::connection::Numbered;
use super::error::{LiveError, UpstreamError};

/// A base URL: scheme, host, port and the path in front of the request's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    scheme: Scheme,
    authority: Authority,
    /// Without the slash at its end.
    path: String,
}

impl Target {
    /// Reads `https://host[:port][/path]`.
    ///
    /// # Errors
    /// It is no such URL.
    pub fn parse(url: &str) -> Result<Self, UpstreamError> {
        if url.contains('#') {
            return Err(UpstreamError::MoreThanABase);
        }
        let uri: Uri = url.parse().map_err(|_parse| UpstreamError::NotAUrl)?;
        let parts = uri.into_parts();
        let scheme = parts.scheme.ok_or(UpstreamError::NotAUrl)?;
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(UpstreamError::Scheme);
        }
        let authority = parts.authority.ok_or(UpstreamError::NoHost)?;
        if authority.host().is_empty() {
            return Err(UpstreamError::NoHost);
        }
        let path = parts.path_and_query.unwrap_or_else(|| PathAndQuery::from_static("/"));
        if path.query().is_some() || authority.as_str().contains('@') {
            return Err(UpstreamError::MoreThanABase);
        }
        let path = path.path().trim_end_matches('/').to_owned();
        Ok(Self { scheme, authority, path })
    }

    /// The same target without `suffix` at the end of its path, where it ends so.
    #[must_use]
    pub fn without_suffix(mut self, suffix: &str) -> Self {
        if let Some(path) = self.path.strip_suffix(suffix) {
            self.path = path.to_owned();
        }
        self
    }

    /// Host and port.
    pub fn authority(&self) -> &str {
        self.authority.as_str()
    }

    /// The URL of a request whose target at the proxy was `asked`; only its path and query count.
    pub(super) fn url(&self, asked: &Uri) -> Option<Uri> {
        let asked = asked.path_and_query().map_or("/", PathAndQuery::as_str);
        let path = format!("{}{asked}", self.path);
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
            .ok()
    }
}

/// The target of each API.
#[derive(Clone, Debug)]
pub struct Upstreams {
    /// Paths of Anthropic's API.
    pub anthropic: Target,
    /// Paths of Gemini's API.
    pub gemini: Target,
    /// All other paths.
    pub openai: Target,
}

impl Upstreams {
    /// The providers' own addresses.
    ///
    /// # Panics
    /// Never: the addresses are constants.
    pub fn providers() -> Self {
        let target = |url| Target::parse(url).expect("a constant that parses");
        Self {
            anthropic: target("https://api.anthropic.com"),
            gemini: target("https://generativelanguage.googleapis.com"),
            openai: target("https://api.openai.com"),
        }
    }

    /// One address for everything.
    pub fn all(target: &Target) -> Self {
        Self { anthropic: target.clone(), gemini: target.clone(), openai: target.clone() }
    }

    /// The target of a path. Anthropic's and Gemini's paths are their own; whatever else is asked
    /// is `OpenAI`'s or that of a server which speaks like it.
    pub fn of_path(&self, path: &str) -> &Target {
        let begins = |prefix: &str| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if begins("/v1/messages") || begins("/v1/complete") {
            &self.anthropic
        } else if begins("/v1beta") || begins("/v1alpha") || begins("/upload") {
            &self.gemini
        } else {
            &self.openai
        }
    }
}

/// Speaks HTTP/1.1 to upstreams; certificates are checked against the system's roots.
pub(super) type UpstreamClient = Client<Numbered, Full<Bytes>>;

pub(super) fn client() -> Result<Arc<UpstreamClient>, LiveError> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    let https = HttpsConnectorBuilder::new()
        .with_native_roots()
        .map_err(|source| LiveError::Roots { source })?
        .https_or_http()
        .enable_http1()
        .wrap_connector(http);
    let client = Client::builder(TokioExecutor::new())
        .http1_preserve_header_case(true)
        .set_host(false)
        .build(Numbered::new(https));
    Ok(Arc::new(client))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_keeps_its_path_and_takes_that_of_the_request() {
        let target = Target::parse("https://gate.example:8443/team/openai/").unwrap();
        let url = |asked: &str| target.url(&asked.parse().unwrap()).unwrap().to_string();
        assert_eq!(
            url("/v1/responses?a=1"),
            "https://gate.example:8443/team/openai/v1/responses?a=1"
        );
        // A request in absolute form does not choose its own host.
        assert_eq!(url("http://elsewhere/v1/x"), "https://gate.example:8443/team/openai/v1/x");
        let bare = Target::parse("http://127.0.0.1:9/v1").unwrap().without_suffix("/v1");
        assert_eq!(
            bare.url(&"/v1/x".parse().unwrap()).unwrap().to_string(),
            "http://127.0.0.1:9/v1/x"
        );
    }

    #[test]
    fn what_is_no_base_url_is_refused_with_the_reason() {
        for (url, why) in [
            ("ftp://host", UpstreamError::Scheme),
            ("host", UpstreamError::NotAUrl),
            ("/v1", UpstreamError::NotAUrl),
            ("https://host/?key=1", UpstreamError::MoreThanABase),
            ("https://user:pw@host/", UpstreamError::MoreThanABase),
            ("https://host/#x", UpstreamError::MoreThanABase),
            ("https://ho st/", UpstreamError::NotAUrl),
        ] {
            assert_eq!(Target::parse(url), Err(why), "{url}");
        }
    }

    #[test]
    fn paths_go_to_their_api() {
        let of = |path| Upstreams::providers().of_path(path).authority().to_owned();
        assert_eq!(of("/v1/messages"), "api.anthropic.com");
        assert_eq!(of("/v1/messages/count_tokens"), "api.anthropic.com");
        assert_eq!(of("/v1/messagesx"), "api.openai.com");
        assert_eq!(
            of("/v1beta/models/m:streamGenerateContent"),
            "generativelanguage.googleapis.com"
        );
        assert_eq!(of("/v1/responses"), "api.openai.com");
        assert_eq!(of("/"), "api.openai.com");
    }
}
