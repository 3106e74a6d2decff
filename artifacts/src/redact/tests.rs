//! Goal: every shape is found where it stands, its look-alikes are not, and what a redaction
//! promises holds for any text. Method: tables through one `check`, then generated texts that
//! are dense with anchors.

use proptest::prelude::*;

use super::*;

/// A dummy token: the prefix and `length` letters and digits.
fn token(prefix: &str, length: usize) -> String {
    let letters = "a1B2c3D4e5F6g7H8i9J0".chars().cycle().take(length);
    prefix.chars().chain(letters).collect()
}

/// A dummy token of capitals and digits.
fn upper(prefix: &str, length: usize) -> String {
    prefix.to_owned() + &token("", length).to_uppercase()
}

fn jwt() -> String {
    [token("eyJ", 20), token("eyJ", 30), token("", 43)].join(".")
}

fn pem(label: &str, line_break: &str) -> String {
    let lines = [token("", 64), token("", 64), token("", 20) + "=="];
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    [vec![begin], lines.to_vec(), vec![end]].concat().join(line_break)
}

fn redacted(text: &str) -> String {
    let redacted = Redactor::core().redact(text.as_bytes()).into_owned();
    one(redacted.as_bytes())
}

/// A text in which every placeholder has the number of the first secret.
fn one(redacted: &[u8]) -> String {
    let text = String::from_utf8(redacted.to_vec()).expect("redaction keeps UTF-8");
    let mut pieces = text.split(":#");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| all + ":#0001" + &piece[4..])
}

fn placeholder(rule: &str, bytes: usize) -> String {
    format!("[REDACTED:{rule}:#0001{}]", "~".repeat(bytes.max(32) - 21))
}

/// Every token shape, with the name of its rule.
fn tokens() -> Vec<(&'static str, String)> {
    let mut tokens = vec![
        ("antk", token("sk-ant-api03-", 80)),
        ("antk", "sk-ant-".to_owned() + &"azby".repeat(4)),
        ("oaik", token("sk-", 20)),
        ("oaik", token("sk-proj-", 100) + "_-x"),
        ("ghpa", token("github_pat_", 22) + "_" + &token("", 59)),
        ("awsk", upper("AKIA", 16)),
        ("awsk", upper("ASIA", 16)),
        ("goog", token("AIza", 35)),
        ("glab", token("glpat-", 20)),
        ("hugf", token("hf_", 34)),
        ("npmt", token("npm_", 36)),
        ("pypi", token("pypi-AgE", 100)),
        ("jwtk", jwt()),
    ];
    for prefix in ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"] {
        tokens.push(("ghtk", token(prefix, 36)));
    }
    for prefix in ["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-"] {
        tokens.push(("slck", token(prefix, 12) + "-" + &token("", 24)));
    }
    tokens
}

/// What a text holds on which the search fails.
const FAIL: &[u8] = b"let the search fail here";

/// Stands in for a fault of the search.
pub(super) fn fail_if_asked(text: &[u8]) {
    assert!(memchr::memmem::find(text, FAIL).is_none(), "asked to fail");
}

#[test]
fn what_cannot_be_redacted_is_kept_back() {
    let text = [token("ghp_", 36).as_bytes(), FAIL].concat();
    let redactor = Redactor::core();
    let kept = [
        redactor.redact(&text),
        redactor.redact_header("x-note", &text),
        redactor.redact_url(&text),
        redactor.redact_json(&text),
    ];
    for redacted in kept {
        assert_eq!(redacted.as_bytes(), b"[WITHHELD:failed:64]");
        assert_eq!(redacted.withheld(), Some(Withheld::Failed));
        assert!(redacted.is_changed());
        let again = redactor.redact(redacted.as_bytes());
        assert_eq!(again.as_bytes(), redacted.as_bytes());
        assert!(!again.is_changed());
    }
    let json = [b"{\"a\":\"".as_slice(), &text, b"\"}"].concat();
    let redacted = redactor.redact_json(&json);
    assert_eq!(redacted.as_bytes(), b"\"[WITHHELD:failed:72]\"");
    let failures = redactor.take_failures();
    assert_eq!(failures.len(), 5);
    assert_eq!(failures[0], Failure { reason: Withheld::Failed, raw_bytes: 64 });
    assert_eq!(redactor.take_failures(), []);
    // One failure does not spoil the next text.
    assert!(redactor.redact(token("ghp_", 36).as_bytes()).as_bytes().starts_with(b"[REDACTED"));
}

#[test]
fn a_stream_that_fails_lets_nothing_out_any_more() {
    let token = token("ghp_", 36);
    for length in [1, 13, 1000] {
        let text = [b"before\n".repeat(100).as_slice(), token.as_bytes(), FAIL, b" after"].concat();
        let redactor = Redactor::core();
        let (mut stream, mut out) = (redactor.stream(), Vec::new());
        for piece in text.chunks(length) {
            stream.push(piece, &mut out);
        }
        stream.finish(&mut out);
        let out = String::from_utf8(out).expect("UTF-8 stays");
        assert!(!out.contains(&token) && !out.contains("after"), "{out}");
        assert!(out.contains("[WITHHELD:failed:"), "{out}");
        assert_eq!(redactor.take_failures().len(), 1);
    }
}

#[test]
fn redaction_can_be_off_and_can_keep_everything_back() {
    let token = token("ghp_", 36);
    let off = Redactor::off();
    assert_eq!(off.redact(token.as_bytes()).as_bytes(), token.as_bytes());
    assert_eq!((off.ruleset().id, off.is_on()), ("off", false));
    let all = Redactor::withholding();
    let kept = all.redact_json(b"{\"a\":\"b\"}");
    assert_eq!(kept.as_bytes(), b"\"[WITHHELD:unwanted:9]\"");
    for redactor in [off, all] {
        let mut out = Vec::new();
        let mut stream = redactor.stream();
        stream.push(token.as_bytes(), &mut out);
        stream.finish(&mut out);
        assert_eq!(out == token.as_bytes(), !redactor.is_on());
    }
}

#[test]
fn every_token_is_replaced_whole_in_every_surrounding() {
    let surroundings = [
        ("", ""),
        ("key=", "\n"),
        ("\"", "\""),
        ("{\\\"k\\\":\\\"", "\\\"}"),
        ("line\\n", "\\n"),
        ("+", " "),
        ("\u{1b}[32m", "\u{1b}[0m"),
        ("\\u001b[1;32m", "\\u001b[0m"),
        ("https://host/?q%3D", "&x=1"),
        ("\u{e9}", "\u{e9}"),
        ("12:\t", ","),
        ("(", ")."),
    ];
    for (rule, token) in tokens() {
        for (before, after) in surroundings {
            let expected = format!("{before}{}{after}", placeholder(rule, token.len()));
            assert_eq!(redacted(&format!("{before}{token}{after}")), expected, "{rule}");
        }
    }
}

#[test]
fn look_alikes_stay_as_they_are() {
    let mut texts = vec![
        token("task-", 30),
        token("risk-", 30),
        token("disk-", 30),
        token("my_sk-", 30),
        token("sk-", 19) + " x",
        "sk-a-long-name-of-something-without-any-number".to_owned(),
        "0123456789abcdef0123456789abcdef01234567sk-".to_owned(),
        token("xghp_", 36),
        token("ghp_", 29) + " x",
        "xoxb-your-token-goes-here-please-thank-you".to_owned(),
        upper("AKIA", 15) + " x",
        "AKIA-is-a-prefix".to_owned(),
        "hf_transfer_download_many_files_at_once".to_owned(),
        "npm_config_registry_and_more_and_more_and_more".to_owned(),
        "eyJ is how a token starts".to_owned(),
        [token("eyJ", 20), token("", 30), token("", 43)].join("."),
        [token("eyJ", 20), token("eyJ", 30)].join("."),
        [token("eyJ", 20), token("eyJ", 30), token("", 15)].join("."),
        "Authorization: Bearer ${TOKEN}".to_owned(),
        "authorization: Bearer <your-token-goes-right-here>".to_owned(),
        "the bearer of this-long-letter-to-the-editor".to_owned(),
        "Authorization: Basic understanding-of-many-things".to_owned(),
        "-----BEGIN PRIVATE KEY-----\" is the first line".to_owned(),
        "BEGIN TRANSACTION; COMMIT".to_owned(),
        "3b18e512dba79e4c8300dd08aeb37f8e728b8dad".to_owned(),
        "sha512-".to_owned() + &token("", 86) + "==",
    ];
    texts.push(pem("CERTIFICATE", "\n"));
    texts.push(pem("PUBLIC KEY", "\n"));
    texts.push("-----BEGIN PRIVATE KEY-----\nis how it starts, and so on\n".to_owned());
    for text in texts {
        let raw = Redactor::core();
        let raw = raw.redact(text.as_bytes());
        assert!(!raw.is_changed(), "{text}");
        assert!(matches!(raw.bytes, Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn a_bearer_token_is_replaced_behind_an_authorization_word() {
    let token = token("", 20) + "._~+/==";
    for before in [
        "Authorization: Bearer ",
        "authorization: bearer ",
        "\"Authorization\": \"Bearer ",
        "\\\"authorization\\\":\\\"Bearer ",
        "-H 'Proxy-Authorization: Bearer  ",
        "HTTP_AUTHORIZATION=Bearer%20",
    ] {
        let expected = before.to_owned() + &placeholder("bear", token.len()) + "\"";
        assert_eq!(redacted(&format!("{before}{token}\"")), expected);
    }
}

#[test]
fn a_private_key_keeps_its_lines_and_loses_its_body() {
    let labels = ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"];
    for label in labels {
        for line_break in ["\n", "\r\n", "\\n", "\\\\n", "\n    ", "\n+"] {
            let key = pem(label, line_break);
            let text = format!("before\n{key}\nafter");
            let result = redacted(&text);
            assert_eq!(result.len(), text.len());
            assert_eq!(result.matches('\n').count(), text.matches('\n').count());
            assert_eq!(result.matches("\\n").count(), text.matches("\\n").count());
            let first = format!("before\n-----BEGIN {label}-----");
            assert!(result.starts_with(&first), "{result}");
            assert!(result.ends_with(&format!("-----END {label}-----\nafter")), "{result}");
            assert!(result.contains("[REDACTED:pemk:#0001"), "{result}");
            assert!(!result.contains(&token("", 8)), "{result}");
        }
    }
}

#[test]
fn a_private_key_that_is_cut_off_or_numbered_is_replaced_too() {
    let key = pem("EC PRIVATE KEY", "\n");
    for cut in 30 + PLACEHOLDER..key.len() {
        let result = redacted(&key[..cut]);
        assert!(!result.contains(&token("", 8)), "{cut}: {result}");
    }
    for gutter in ["    12\t", " 7\u{2192}", "12: ", "12-", "> ", "| "] {
        let result = redacted(&pem("PRIVATE KEY", &format!("\n{gutter}")));
        assert!(!result.contains(&token("", 8)), "{result}");
        assert_eq!(result.lines().count(), 5);
    }
    let legacy = key.replacen('\n', "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n", 1);
    let result = redacted(&legacy);
    assert!(!result.contains(&token("", 8)), "{result}");
    assert_eq!(result.lines().count(), legacy.lines().count());
}

const PLACEHOLDER: usize = placeholder::PLACEHOLDER_BYTES_MIN;

#[test]
fn spans_say_where_and_how_long_before_and_after() {
    let (long, short) = (token("ghp_", 36), upper("AKIA", 16));
    let text = format!("a {short} b {long} c");
    let redactor = Redactor::core();
    let redacted = redactor.redact(text.as_bytes());
    let flags = Flags::default();
    let expected = [
        Redaction { rule: 6, offset: 2, bytes: 32, raw_bytes: 20, text_bytes: (32, 20), flags },
        Redaction { rule: 3, offset: 37, bytes: 40, raw_bytes: 40, text_bytes: (40, 40), flags },
    ];
    assert_eq!(redacted.redactions(), expected);
    for span in redacted.redactions() {
        let start = usize::try_from(span.offset).expect("small");
        let end = start + usize::try_from(span.bytes).expect("small");
        let written = &redacted.as_bytes()[start..end];
        assert!(written.starts_with(b"[REDACTED:") && written.ends_with(b"]"));
    }
}

#[test]
fn debug_prints_no_content() {
    let text = format!("prompt {}", token("ghp_", 36));
    let redactor = Redactor::core();
    assert_eq!(
        format!("{:?}", redactor.redact(text.as_bytes())),
        "Redacted { bytes: 47, redactions: 1 }"
    );
    let mut stream = redactor.stream();
    stream.push(b"prompt ghp_abc", &mut Vec::new());
    let shown = format!("{stream:?}");
    assert!(!shown.contains("prompt") && !shown.contains("112"), "{shown}");
}

#[test]
fn a_credential_header_keeps_only_its_scheme() {
    let redactor = Redactor::core();
    let check = |name: &str, value: &str, expected: &str| {
        let redacted = redactor.redact_header(name, value.as_bytes()).into_owned();
        assert_eq!(one(redacted.as_bytes()), expected, "{name}");
        let again = redactor.redact_header(name, redacted.as_bytes());
        assert_eq!(again.as_bytes(), redacted.as_bytes(), "{name}");
    };
    let head = placeholder("head", 0);
    check("Authorization", "Bearer short", &format!("Bearer {head}"));
    check("authorization", "basic dTpw", &format!("basic {head}"));
    check("AUTHORIZATION", "whatever it is", &head);
    check("authorization", "", "");
    check("authorization", "Bearer ", "Bearer ");
    for name in [
        "proxy-authorization",
        "x-api-key",
        "X-Goog-Api-Key",
        "api-key",
        "Cookie",
        "set-cookie",
        "x-amz-security-token",
        "X-Auth-Token",
        "x_client_secret",
        "cf-secret-thing",
    ] {
        check(name, " a=b; c=d ", &format!(" {head} "));
    }
    for name in ["content-type", "anthropic-ratelimit-tokens-remaining", "x-request-id", "accept"] {
        check(name, "1234567890", "1234567890");
    }
    let key = token("ghp_", 36);
    check("x-note", &format!("see {key}"), &format!("see {}", placeholder("ghtk", 40)));
}

#[test]
fn a_url_loses_passwords_and_secret_parameters() {
    let redactor = Redactor::core();
    let check = |url: &str, expected: &str| {
        let redacted = redactor.redact_url(url.as_bytes()).into_owned();
        assert_eq!(one(redacted.as_bytes()), expected);
        assert_eq!(redactor.redact_url(redacted.as_bytes()).as_bytes(), redacted.as_bytes());
    };
    let (urlq, urlp) = (placeholder("urlq", 0), placeholder("urlp", 0));
    for name in ["key", "api_key", "token", "access_token", "sig", "X-Amz-Signature"] {
        check(
            &format!("https://h/v1?a=1&{name}=abc&b=2"),
            &format!("https://h/v1?a=1&{name}={urlq}&b=2"),
        );
    }
    check("https://h/cb#access_token=abc", &format!("https://h/cb#access_token={urlq}"));
    check("https://u:p@h/x", &format!("https://u:{urlp}@h/x"));
    check("redis://:p@ss:w@h:6379/0", &format!("redis://:{urlp}@h:6379/0"));
    let key = upper("AKIA", 16);
    check(&format!("https://h/?key={key}&k2={key}"), &{
        format!("https://h/?key={0}&k2={0}", placeholder("awsk", 0))
    });
    check(&format!("https://{}@h/r.git", token("ghp_", 36)), &{
        format!("https://{}@h/r.git", placeholder("ghtk", 40))
    });
    check(&format!("https://{}:x@h/r.git", token("ghp_", 36)), &{
        format!("https://{}:{urlp}@h/r.git", placeholder("ghtk", 40))
    });
    for url in [
        "https://h:8080/v1/models?page_token=abc&max_tokens=7&keys=1&key=",
        "https://user@h/",
        "https://h/a:b@c?x=a:b@c",
        "/v1/key=abc/token=abc",
        "not a url",
        "",
    ] {
        check(url, url);
    }
}

/// A text that is dense with anchors, cut tokens, and the bytes that decide about boundaries.
fn dense() -> impl Strategy<Value = Vec<u8>> {
    let mut pieces: Vec<String> = tokens().into_iter().map(|(_, token)| token).collect();
    pieces.extend(
        ["sk-", "sk-ant-", "eyJ", "ghp_", "AKIA", "hf_", ".", "_", "-", "\n", " "]
            .map(String::from),
    );
    pieces.extend(
        ["\\n", "\\", "\"", "\u{1b}[1m", "%20", "n", "\u{2192}", "=", "]"].map(String::from),
    );
    pieces.extend(["Authorization: Bearer ", "uthorization", "Bearer "].map(String::from));
    pieces.extend(["-----BEGIN PRIVATE KEY-----\n", "BEGIN ", "-----END"].map(String::from));
    pieces.extend([pem("PRIVATE KEY", "\n"), pem("RSA PRIVATE KEY", "\\n"), token("", 24)]);
    let piece = (prop::sample::select(pieces), 0..200_usize).prop_map(|(piece, cut)| {
        // Every fourth piece or so is whole, the others are cut anywhere.
        let bytes = piece.into_bytes();
        let cut = if cut < 150 { bytes.len() } else { cut % (bytes.len() + 1) };
        bytes[..cut].to_vec()
    });
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// A text of whole tokens and of words, each on a line of its own.
fn apart() -> impl Strategy<Value = Vec<u8>> {
    let mut lines: Vec<String> = tokens().into_iter().map(|(_, token)| token).collect();
    lines.extend([pem("PRIVATE KEY", "\n"), pem("RSA PRIVATE KEY", "\\n")]);
    lines.extend(["a word", "3f786850e387550fdab836ed7e6dc881de23001b", "=", ""].map(String::from));
    prop::collection::vec(prop::sample::select(lines), 0..12)
        .prop_map(|lines| lines.join("\n").into_bytes())
}

/// Pushes a text in chunks of the given lengths, repeated, and returns all that came out.
fn streamed(text: &[u8], lengths: &[usize]) -> (Vec<u8>, Vec<Redaction>) {
    let redactor = Redactor::core();
    let mut stream = redactor.stream();
    let (mut out, mut rest) = (Vec::new(), text);
    for length in lengths.iter().cycle() {
        let (chunk, behind) = rest.split_at((*length).min(rest.len()));
        stream.push(chunk, &mut out);
        rest = behind;
        if rest.is_empty() {
            break;
        }
    }
    let redactions = stream.finish(&mut out);
    (out, redactions)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    // Where tokens stand right behind one another, a second run can still judge what the first
    // one took for a part of something longer; that is not settled yet.
    #[test]
    fn m15_redacting_twice_is_redacting_once(text in apart()) {
        let redactor = Redactor::core();
        let once = redactor.redact(&text);
        let again = redactor.for_new_run();
        let twice = again.redact(once.as_bytes());
        prop_assert_eq!(once.as_bytes(), twice.as_bytes());
        prop_assert!(!twice.is_changed());
    }

    #[test]
    fn lines_and_lengths_are_kept(text in dense()) {
        let redactor = Redactor::core();
        let redacted = redactor.redact(&text);
        let breaks = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').count();
        prop_assert_eq!(breaks(redacted.as_bytes()), breaks(&text));
        let grown: u64 = redacted.redactions().iter().map(|span| span.bytes - span.raw_bytes).sum();
        prop_assert_eq!(redacted.as_bytes().len() as u64, text.len() as u64 + grown);
        let kept = redacted.redactions().iter().all(|span| span.bytes == span.raw_bytes.max(32));
        prop_assert!(kept);
        let is_text = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok();
        prop_assert_eq!(is_text(&text), is_text(redacted.as_bytes()));
    }

    #[test]
    fn m52_a_stream_gives_what_the_whole_text_gives(
        text in dense(),
        lengths in prop::collection::vec(1..90_usize, 1..6),
    ) {
        let redactor = Redactor::core();
        let whole = redactor.redact(&text);
        for lengths in [lengths.as_slice(), &[1], &[usize::MAX]] {
            let (out, redactions) = streamed(&text, lengths);
            prop_assert_eq!(out.as_slice(), whole.as_bytes());
            prop_assert_eq!(redactions.as_slice(), whole.redactions());
        }
    }

    #[test]
    fn m14_a_text_without_a_secret_is_stored_as_it_is(
        text in "[ -,.0-9;-@\\[-`{-~\n\u{e9}\u{4e2d}a-dg-hlm-nqv-z]{0,400}",
    ) {
        let redactor = Redactor::core();
        let redacted = redactor.redact(text.as_bytes());
        prop_assert_eq!(redacted.as_bytes(), text.as_bytes());
    }

    #[test]
    fn m51_equal_placeholders_stand_for_equal_secrets(
        secrets in prop::collection::vec("[a-zA-Z0-9]{36}", 2..12),
        keyed in any::<bool>(),
    ) {
        let redactor = Redactor::core();
        let key = TagKey::PUBLIC_TEST_KEY;
        let redactor = if keyed { redactor.with_key(key) } else { redactor };
        let shown: Vec<_> = secrets
            .iter()
            .map(|secret| redactor.redact(format!("ghp_{secret}").as_bytes()).as_bytes().to_vec())
            .collect();
        for (a, shown_a) in secrets.iter().zip(&shown) {
            for (b, shown_b) in secrets.iter().zip(&shown) {
                prop_assert_eq!(a == b, shown_a == shown_b);
            }
        }
    }

    #[test]
    fn a_string_that_needs_no_escape_still_needs_none(text in "[ -!#-\\[\\]-~]{0,80}") {
        let text = text + &token("ghp_", 36);
        let redacted = redacted(&text);
        let escapes = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        prop_assert!(!redacted.bytes().any(escapes));
    }
}

#[test]
fn spans_around_the_longest_are_cut_the_same_in_every_chunking() {
    let digits = token("sk-", 40);
    for length in [MAXSPAN_BYTES - 1, MAXSPAN_BYTES, MAXSPAN_BYTES + 1, 2 * MAXSPAN_BYTES + 77] {
        for text in [
            format!("x {} {digits}", token("sk-", length - 3)),
            format!("x {}.{digits}", token("eyJ", length - 3)),
            format!("BEGIN PRIVATE KEY-----\n{}\n{digits}", token("", length - 24)),
            format!("Authorization: Bearer {} {digits}", token("", length)),
        ] {
            let redactor = Redactor::core();
            let whole = redactor.redact(text.as_bytes());
            for lengths in [[1000].as_slice(), &[65_536, 3], &[100_000], &[7, 60_000]] {
                let (out, redactions) = streamed(text.as_bytes(), lengths);
                assert!(out == whole.as_bytes(), "{length} {lengths:?}");
                assert_eq!(redactions, whole.redactions());
            }
        }
    }
}

#[test]
fn a_stream_holds_back_a_bounded_window() {
    let redactor = Redactor::core();
    for text in
        [token("sk-", 1 << 20), "BEGIN PRIVATE KEY-----\n".to_owned() + &" ".repeat(1 << 20)]
    {
        let mut stream = redactor.stream();
        let (mut out, mut pushed) = (Vec::new(), 0);
        for chunk in text.as_bytes().chunks(4096) {
            stream.push(chunk, &mut out);
            pushed += chunk.len();
            assert!(pushed - out.len() <= MAXSPAN_BYTES + 4096 + Scan::kept_bytes(), "{pushed}");
        }
    }
}
