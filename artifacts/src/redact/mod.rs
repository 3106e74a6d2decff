//! Replaces secrets by placeholders before bytes are stored; the only sanctioned cut on the
//! write path.
//!
//! [`Redacted`] is the proof that bytes went through here: a store takes nothing else, and only
//! a [`Redactor`] makes one. Redacting twice changes nothing, a text keeps its number of lines,
//! a placeholder can stand inside a JSON string, and however a text is cut into chunks, a
//! stream yields the same bytes and the same spans.
//!
//! ```text
//! bytes -> anchor: where could a secret start? -> judge: is it one, and where does it end?
//!       -> scan: spans, united where they overlap -> placeholder, with a tag
//! ```
//!
//! What the rules are stands as data in `rules`; what values look like, in `look`.

use std::borrow::Cow;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

mod anchor;
mod boundary;
mod compose;
mod json;
mod judge;
mod known;
mod look;
mod named;
mod placeholder;
mod rules;
mod run;
mod scan;
mod stream;
mod tag;
mod view;
mod wide;
mod withheld;

use self::anchor::Anchors;
use self::judge::Edge;
pub use self::judge::Flags;
use self::known::Known;
use self::rules::{Allow, KNOWN, Rule};
pub use self::rules::{RuleFileError, RuleSet};
use self::run::Run;
use self::scan::{Scan, Span, Window};
pub use self::stream::{MAXSPAN_BYTES, RedactStream};
pub use self::tag::{KEY_BYTES, TagKey};
pub use self::withheld::{Failure, Withheld};

/// Bytes in which every secret that the rules know is replaced.
///
/// Only a [`Redactor`] makes one. `Debug` prints lengths, never content.
#[derive(Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    bytes: Cow<'a, [u8]>,
    redactions: Vec<Redaction>,
    withheld: Option<Withheld>,
}

/// Describes one replaced span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// The rule that found it; the number of a rule never changes.
    pub rule: u16,
    /// Where the placeholder starts, in redacted bytes.
    pub offset: u64,
    /// Length of the placeholder.
    pub bytes: u64,
    /// Length of what it replaced.
    pub raw_bytes: u64,
    /// Both lengths without the escapes of the JSON string that it stands in; in a text that is
    /// no JSON, the same.
    pub text_bytes: (u64, u64),
    /// What is special about it.
    pub flags: Flags,
}

/// Finds secrets and replaces them.
///
/// A redactor has the memory of one run: equal secrets get equal placeholders, and what was found
/// once is known from then on. Clones share that memory; [`Redactor::for_new_run`] starts
/// another.
#[derive(Clone, Debug)]
pub struct Redactor {
    engine: Arc<Engine>,
    key: Option<TagKey>,
    given: Arc<Given>,
    run: Arc<Mutex<Run>>,
    mode: Mode,
}

/// Known values that every run of a redactor starts with.
#[derive(Debug, Default)]
struct Given {
    known: Arc<Known>,
    names: Vec<String>,
    values: u32,
}

/// What a redactor does with texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Replaces secrets.
    On,
    /// Leaves everything as it is.
    Off,
    /// Keeps everything back.
    Withholding,
}

/// What a redactor looks for; shared by all that look for the same.
#[derive(Debug)]
struct Engine {
    anchors: Anchors,
    /// Rules beside the core rules.
    more: Vec<&'static Rule>,
    allow: Allow,
    ruleset: RuleSet,
}

impl Engine {
    fn core() -> Arc<Self> {
        static CORE: LazyLock<Arc<Engine>> =
            LazyLock::new(|| Arc::new(Engine::new("core", Vec::new(), Allow::default(), "")));
        Arc::clone(&CORE)
    }

    fn extended() -> Arc<Self> {
        static EXTENDED: LazyLock<Arc<Engine>> = LazyLock::new(|| {
            Arc::new(Engine::new("extended", rules::extended(), Allow::default(), ""))
        });
        Arc::clone(&EXTENDED)
    }

    fn off() -> Arc<Self> {
        static OFF: LazyLock<Arc<Engine>> = LazyLock::new(|| {
            let anchors = Anchors::new(&[], &[]);
            let (more, allow, ruleset) = (Vec::new(), Allow::default(), rules::ruleset_off());
            Arc::new(Engine { anchors, more, allow, ruleset })
        });
        Arc::clone(&OFF)
    }

    fn new(id: &'static str, more: Vec<&'static Rule>, allow: Allow, file: &str) -> Self {
        let anchors = Anchors::new(&rules::core(), &more);
        let ruleset = rules::ruleset_with(id, &more, file);
        Self { anchors, more, allow, ruleset }
    }
}

impl<'a> Redacted<'a> {
    /// Returns the redacted bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Lists what was replaced, in the order of the text.
    pub fn redactions(&self) -> &[Redaction] {
        &self.redactions
    }

    /// Returns true if something was replaced.
    pub fn is_changed(&self) -> bool {
        !self.redactions.is_empty() || self.withheld.is_some()
    }

    /// Copies borrowed bytes, so that the result lives on its own.
    pub fn into_owned(self) -> Redacted<'static> {
        let Self { bytes, redactions, withheld } = self;
        Redacted { bytes: Cow::Owned(bytes.into_owned()), redactions, withheld }
    }

    /// Why all of the text was kept back, if it was; the bytes are a tombstone then.
    pub fn withheld(&self) -> Option<Withheld> {
        self.withheld
    }

    fn unchanged(bytes: &'a [u8]) -> Self {
        Self { bytes: Cow::Borrowed(bytes), redactions: Vec::new(), withheld: None }
    }

    fn changed(bytes: Vec<u8>, redactions: Vec<Redaction>) -> Self {
        Self { bytes: Cow::Owned(bytes), redactions, withheld: None }
    }
}

impl fmt::Debug for Redacted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redacted")
            .field("bytes", &self.bytes.len())
            .field("redactions", &self.redactions.len())
            .finish()
    }
}

impl Redactor {
    /// Makes a redactor of the core rules, which are always on. It has no key: placeholders
    /// number the secrets of the run.
    pub fn core() -> Self {
        Self::of(Engine::core(), Mode::On)
    }

    /// Makes a redactor of the core rules and those of gitleaks. It takes more time, and finds
    /// what only the name of a service tells.
    pub fn extended() -> Self {
        Self::of(Engine::extended(), Mode::On)
    }

    /// Makes a redactor of the extended rules and those of a TOML text.
    ///
    /// # Errors
    /// The text is no such file; the error tells line and column.
    pub fn with_rules(text: &str) -> Result<Self, RuleFileError> {
        let (more, allow) = rules::parse(text)?;
        let more = rules::extended().into_iter().chain(more).collect();
        let engine = Arc::new(Engine::new("custom", more, allow, text));
        Ok(Self::of(engine, Mode::On))
    }

    /// Makes a redactor that replaces nothing. Its rule set is called `off`, and whatever is
    /// recorded with it says so.
    pub fn off() -> Self {
        Self::of(Engine::off(), Mode::Off)
    }

    /// Makes a redactor that keeps every text back and leaves its length: of a run recorded with
    /// it, only the shape is on record.
    pub fn withholding() -> Self {
        Self::of(Engine::core(), Mode::Withholding)
    }

    fn of(engine: Arc<Engine>, mode: Mode) -> Self {
        Self { engine, key: None, given: Arc::default(), run: Arc::default(), mode }
    }

    /// Uses tags that come from `key` for secrets that nobody could guess.
    #[must_use]
    pub fn with_key(mut self, key: TagKey) -> Self {
        self.key = Some(key);
        self
    }

    /// The same rules and key, without any memory.
    #[must_use]
    pub fn for_new_run(&self) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            key: self.key.clone(),
            given: Arc::clone(&self.given),
            run: Arc::new(Mutex::new(Run::knowing(&self.given.known))),
            mode: self.mode,
        }
    }

    /// Makes values known from the start of every run, each with the name of where it comes from.
    ///
    /// Returns the names of values that are not protected, because they are shorter than 8 bytes,
    /// a number or a word, or one too many.
    #[must_use = "values may be left without protection"]
    pub fn knowing(mut self, values: &[(String, Vec<u8>)]) -> (Self, Vec<String>) {
        let (mut known, mut given) = (Known::default(), Given::default());
        let mut left = Vec::new();
        for (name, value) in values {
            if known::can_be_known(value) && known.add(value, &KNOWN) {
                given.values = given.values.saturating_add(1);
                if given.names.last() != Some(name) {
                    given.names.push(name.clone());
                }
            } else {
                left.push(name.clone());
            }
        }
        given.known = Arc::new(known);
        self.run = Arc::new(Mutex::new(Run::knowing(&given.known)));
        self.given = Arc::new(given);
        (self, left)
    }

    /// Names of where known values came from, and how many they are.
    pub fn known_names(&self) -> (&[String], u32) {
        (&self.given.names, self.given.values)
    }

    /// Names the key of the tags, if there is one.
    pub fn key_id(&self) -> Option<[u8; 8]> {
        self.key.as_ref().map(TagKey::id)
    }

    /// Returns false if this redactor was made to replace nothing.
    pub fn is_on(&self) -> bool {
        self.mode != Mode::Off
    }

    /// Identifies the rules, for the record of what a redaction could have found.
    pub fn ruleset(&self) -> RuleSet {
        self.engine.ruleset
    }

    /// What the rule of that number finds, in words; `None` if there is no such rule.
    pub fn rule_about(&self, rule: u16) -> Option<(String, String)> {
        let rules = rules::core().into_iter().chain(self.engine.more.iter().copied());
        let found = rules.into_iter().find(|known| known.id == rule);
        found.map(|rule| (rule.name.to_owned(), rule.about.to_owned()))
    }

    /// Makes a value known for the rest of the run: it is replaced wherever it stands, in every
    /// encoding in which programs print values. Returns false if it is not protected, because it
    /// is shorter than 8 bytes, a number or a word.
    pub fn know(&self, value: &[u8]) -> bool {
        self.locked().know(value)
    }

    fn locked(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> Arc<Known> {
        self.locked().known()
    }

    /// Redacts a whole text. The result borrows `raw` when nothing was found.
    ///
    /// It fails closed: should the search go wrong, a tombstone takes the place of the text.
    pub fn redact<'a>(&self, raw: &'a [u8]) -> Redacted<'a> {
        self.guarded(raw, false, |redactor| redactor.replace_all(raw, redactor.spans(raw)))
    }

    /// Failures since the last call, for whoever keeps the record.
    pub fn take_failures(&self) -> Vec<Failure> {
        self.locked().take_failures()
    }

    /// Does the work on a text, unless nothing is to be done, and lets nothing of the text out
    /// if that goes wrong.
    fn guarded<'a>(
        &self,
        raw: &'a [u8],
        in_json: bool,
        work: impl FnOnce(&Self) -> Redacted<'a>,
    ) -> Redacted<'a> {
        match self.mode {
            Mode::Off => Redacted::unchanged(raw),
            Mode::Withholding if raw.is_empty() => Redacted::unchanged(raw),
            Mode::Withholding => self.withhold(raw, Withheld::Unwanted, in_json),
            Mode::On => std::panic::catch_unwind(AssertUnwindSafe(|| work(self)))
                .unwrap_or_else(|_panic| self.withhold(raw, Withheld::Failed, in_json)),
        }
    }

    fn withhold<'a>(&self, raw: &'a [u8], reason: Withheld, in_json: bool) -> Redacted<'a> {
        if withheld::is_tombstone(raw) {
            return Redacted::unchanged(raw);
        }
        let raw_bytes = raw.len() as u64;
        self.locked().failed(Failure { reason, raw_bytes });
        let bytes = Cow::Owned(withheld::tombstone(reason, raw_bytes, in_json));
        Redacted { bytes, redactions: Vec::new(), withheld: Some(reason) }
    }

    /// Redacts the value of a header.
    ///
    /// Behind a name that says that the value is a credential (`authorization`, `cookie`,
    /// `x-api-key`, `*-token`, `*secret*` and so on, in any case) the whole value is replaced but
    /// for a scheme word such as `Bearer`; other values are redacted as text.
    pub fn redact_header<'a>(&self, name: &str, value: &'a [u8]) -> Redacted<'a> {
        if !named::is_secret_header(name) {
            return self.redact(value);
        }
        self.guarded(value, false, |redactor| {
            redactor.replace_all(value, named::credential(value).into_iter().collect())
        })
    }

    /// Redacts a URL: passwords of a user, values of parameters such as `key` and
    /// `access_token`, and whatever else the rules find.
    pub fn redact_url<'a>(&self, url: &'a [u8]) -> Redacted<'a> {
        self.guarded(url, false, |redactor| {
            let spans = named::url_spans(url).into_iter().chain(redactor.spans(url)).collect();
            redactor.replace_all(url, scan::unite(spans))
        })
    }

    /// Starts redacting a text that comes in pieces.
    ///
    /// One stream per text: standard output and standard error are two.
    pub fn stream(&self) -> RedactStream<'_> {
        RedactStream::new(self)
    }

    fn spans(&self, raw: &[u8]) -> Vec<Span> {
        #[cfg(test)]
        tests::fail_if_asked(raw);
        let mut scan = Scan::new(self.known());
        let window = Window { bytes: raw, base: 0, edge: Edge::End };
        let decided = scan.advance(&self.engine, &window);
        let spans = std::iter::from_fn(|| scan.next_final(decided)).collect();
        self.locked().learn(scan.learned());
        spans
    }

    /// Replaces spans that do not overlap and are in order.
    fn replace_all<'a>(&self, raw: &'a [u8], spans: Vec<Span>) -> Redacted<'a> {
        let (mut bytes, mut redactions, mut from) = (Vec::new(), Vec::new(), 0);
        for span in spans {
            let local = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
            let (start, end) = (local(span.start), local(span.end));
            bytes.extend_from_slice(raw.get(from..start).unwrap_or_default());
            let offset = bytes.len() as u64;
            let secret = raw.get(start..end).unwrap_or_default();
            redactions.extend(self.write_placeholder(&span, secret, offset, &mut bytes));
            from = end;
        }
        if redactions.is_empty() {
            return Redacted::unchanged(raw);
        }
        bytes.extend_from_slice(raw.get(from..).unwrap_or_default());
        Redacted::changed(bytes, redactions)
    }

    /// Appends the placeholder for `secret`; `offset` is where it starts in all of the output.
    /// What is a placeholder already stays, and is no redaction.
    fn write_placeholder(
        &self,
        span: &Span,
        secret: &[u8],
        offset: u64,
        out: &mut Vec<u8>,
    ) -> Option<Redaction> {
        let before = out.len();
        let wide = if span.flags.has(Flags::WIDE) { wide::narrow(secret) } else { None };
        let plain = wide.as_ref().map_or(secret, |(text, _)| text.as_slice());
        if placeholder::is_one(plain) {
            out.extend_from_slice(secret);
            return None;
        }
        let (rule, tag) = self.locked().name(span.rule, plain, self.key.as_ref());
        match &wide {
            None => placeholder::write(rule.name, &tag, secret, out),
            Some((text, zero_first)) => {
                let mut narrow = Vec::new();
                placeholder::write(rule.name, &tag, text, &mut narrow);
                wide::widen(&narrow, *zero_first, out);
            }
        }
        let bytes = (out.len() - before) as u64;
        let raw_bytes = secret.len() as u64;
        let text_bytes = (bytes, raw_bytes);
        Some(Redaction { rule: rule.id, offset, bytes, raw_bytes, text_bytes, flags: span.flags })
    }
}

#[cfg(test)]
mod tests;
