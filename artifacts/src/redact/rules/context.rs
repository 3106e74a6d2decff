//! Values that stand behind a name: assignments, headers, cookies, URLs, commands.
//!
//! The anchors leave out the first letter of a word, so that `Password` and `password` are one
//! literal. They say where to look and nothing more: the name around them, what joins it to a
//! value, and the value itself decide, see `judge`.

use super::{Rule, Shape};

/// What kind of place a value stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// `name = value` in any language, file format or command line.
    Assigned(&'static [&'static str]),
    /// Behind an authorization header or the word `Bearer`.
    Authorization,
    /// Values in a cookie header.
    Cookie,
    /// The password before the `@` of a URL.
    UrlPassword,
    /// A parameter of a URL that only there is a secret.
    Parameter,
    /// An option of a program that takes a password.
    Command,
    /// A password in a place that a file format gives it.
    Place,
    /// A private key in base64.
    Base64Pem,
}

impl Context {
    /// The texts that say where to look.
    pub(crate) fn anchors(self) -> &'static [&'static str] {
        match self {
            Self::Assigned(anchors) => anchors,
            Self::Authorization => &AUTHORIZATION,
            Self::Cookie => &["ookie", "OOKIE"],
            Self::UrlPassword => &["://"],
            Self::Parameter => &["sig=", "ignature=", "?key=", "&key="],
            Self::Command => &COMMANDS,
            Self::Place => &PLACES,
            Self::Base64Pem => &["LS0tLS1CRUdJTi"],
        }
    }
}

const AUTHORIZATION: [&str; 6] =
    ["uthorization", "UTHORIZATION", "Bearer ", "bearer ", "Bearer%20", "BEARER "];
const COMMANDS: [&str; 7] =
    ["curl ", "sshpass ", "mysql", "mariadb", "redis-cli ", "docker login", "--user "];
const PLACES: [&str; 7] =
    ["@tcp(", ":5432:", ":3306:", "IDENTIFIED BY", "identified by", "_auth=", "auth\":"];

const PASSWORD: [&str; 36] = [
    "assword",
    "ASSWORD",
    "assWord",
    "asswd",
    "ASSWD",
    "assphrase",
    "ASSPHRASE",
    "assPhrase",
    "asscode",
    "_pass",
    "_PASS",
    "pass=",
    "PASS=",
    "pass:",
    "Pass=",
    "Pass:",
    "pass\"",
    "pass'",
    "pass>",
    "Pass\"",
    "requirepass",
    "storepass",
    "keypass",
    "masterauth",
    "pwd=",
    "PWD=",
    "Pwd=",
    "pwd:",
    "PWD:",
    "Pwd:",
    "pwd\"",
    "pwd'",
    "pwd>",
    "PWD\"",
    "_PWD",
    "_pwd",
];
const SECRET: [&str; 4] = ["ecret", "ECRET", "redential", "REDENTIAL"];
const TOKEN: [&str; 2] = ["oken", "OKEN"];
const KEY: [&str; 26] = [
    "pikey",
    "piKey",
    "PIKEY",
    "PiKey",
    "_key",
    "_KEY",
    "_Key",
    "-key",
    "-Key",
    "-KEY",
    "ccessKey",
    "rivateKey",
    "ccountKey",
    "asterKey",
    "rviceKey",
    "icenseKey",
    "ptionKey",
    "igningKey",
    "authKey",
    "AuthKey",
    "appKey",
    "AppKey",
    "cretkey",
    "ountkey",
    "cesskey",
    "vatekey",
];

const fn context(id: u16, name: &'static str, about: &'static str, context: Context) -> Rule {
    Rule { id, name, about, shape: Shape::Context(context) }
}

/// All of them.
pub(crate) static CONTEXTS: [Rule; 11] = [
    context(13, "bear", "value of an authorization", Context::Authorization),
    context(80, "pass", "password behind its name", Context::Assigned(&PASSWORD)),
    context(81, "secr", "secret behind its name", Context::Assigned(&SECRET)),
    context(82, "tokn", "token behind its name", Context::Assigned(&TOKEN)),
    context(83, "apik", "key behind its name", Context::Assigned(&KEY)),
    context(84, "cook", "value of a cookie", Context::Cookie),
    context(85, "urlw", "password in the authority of a URL", Context::UrlPassword),
    context(86, "urls", "signature or key in a URL", Context::Parameter),
    context(87, "cmdl", "password in a command line", Context::Command),
    context(88, "plac", "password in the place of a file format", Context::Place),
    context(89, "b64k", "private key in base64", Context::Base64Pem),
];
