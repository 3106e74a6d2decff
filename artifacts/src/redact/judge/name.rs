//! What a name says about the value behind it.

/// What kind of secret a name announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// People choose these: any signs, few bytes.
    Password,
    /// Programs make these.
    Generated,
}

/// Ends of names of passwords. A word may stand right before them, as in `dbpassword`.
const PASSWORDS: [&[u8]; 6] =
    [b"password", b"passwd", b"passphrase", b"passcode", b"passwort", b"pwd"];
/// Ends of names of generated secrets.
const GENERATED: [&[u8]; 12] = [
    b"secret",
    b"token",
    b"apikey",
    b"secretkey",
    b"accesskey",
    b"privatekey",
    b"authkey",
    b"accountkey",
    b"credential",
    b"credentials",
    b"secrets",
    b"accesstoken",
];
/// Words that make the word `key` behind them a secret.
const KEYS: [&[u8]; 84] = [
    b"api",
    b"access",
    b"secret",
    b"private",
    b"encryption",
    b"signing",
    b"master",
    b"account",
    b"storage",
    b"auth",
    b"license",
    b"deploy",
    b"service",
    b"session",
    b"consumer",
    b"client",
    b"app",
    b"webhook",
    b"jwt",
    b"hmac",
    b"aes",
    b"cipher",
    b"admin",
    b"ssh",
    b"integration",
    b"subscription",
    b"shared",
    b"host",
    b"function",
    b"project",
    b"routing",
    b"rest",
    b"server",
    b"crypto",
    b"openai",
    b"anthropic",
    b"gemini",
    b"mistral",
    b"cohere",
    b"groq",
    b"azure",
    b"role",
    b"write",
    b"ingest",
    b"ingestion",
    b"record",
    b"stripe",
    b"twilio",
    b"sendgrid",
    b"mailgun",
    b"mailchimp",
    b"postmark",
    b"datadog",
    b"heroku",
    b"algolia",
    b"pinecone",
    b"supabase",
    b"firebase",
    b"bugsnag",
    b"rollbar",
    b"sentry",
    b"mapbox",
    b"shopify",
    b"paypal",
    b"serpapi",
    b"serper",
    b"tavily",
    b"exa",
    b"perplexity",
    b"deepseek",
    b"together",
    b"fireworks",
    b"voyage",
    b"jina",
    b"elevenlabs",
    b"deepgram",
    b"langsmith",
    b"langchain",
    b"wandb",
    b"maps",
    b"openrouter",
    b"huggingface",
    b"replicate",
    b"instrumentation",
];
/// Words before `token` with which it is a position, or a piece of a text.
const NO_TOKENS: [&[u8]; 34] = [
    b"next",
    b"page",
    b"continuation",
    b"pagination",
    b"cursor",
    b"max",
    b"min",
    b"num",
    b"total",
    b"eos",
    b"bos",
    b"pad",
    b"unk",
    b"cls",
    b"sep",
    b"mask",
    b"prev",
    b"previous",
    b"sync",
    b"resume",
    b"change",
    b"per",
    b"special",
    b"start",
    b"end",
    b"stop",
    b"last",
    b"first",
    b"input",
    b"output",
    b"completion",
    b"prompt",
    b"current",
    b"skip",
];
/// Words behind the name proper: of which value it is, not what kind of thing.
const SUFFIXES: [&[u8]; 22] = [
    b"value",
    b"val",
    b"base",
    b"prod",
    b"production",
    b"staging",
    b"stage",
    b"dev",
    b"test",
    b"live",
    b"main",
    b"default",
    b"old",
    b"new",
    b"current",
    b"primary",
    b"secondary",
    b"backup",
    b"string",
    b"str",
    b"plain",
    b"text",
];
/// Most words of a name that are looked at, from its end.
const WORDS_MAX: usize = 12;

/// Returns what a name announces, or `None` if its value is none of our business.
pub(crate) fn kind(name: &[u8]) -> Option<Kind> {
    let words = words(name);
    let mut words = words.as_slice();
    while let [rest @ .., last] = words {
        let is_suffix = SUFFIXES.contains(&last.as_slice()) || last.iter().all(u8::is_ascii_digit);
        if rest.is_empty() || !is_suffix {
            break;
        }
        words = rest;
    }
    let (last, before) = words.split_last()?;
    let previous = before.last().map(Vec::as_slice).unwrap_or_default();
    // `passPhrase` and `api_key` are words of their own.
    let joined = [previous, last.as_slice()].concat();
    let is_password = |end: &&[u8]| last.ends_with(end) || joined == **end;
    if PASSWORDS.iter().any(is_password)
        || matches!(
            last.as_slice(),
            b"pass" | b"requirepass" | b"storepass" | b"keypass" | b"masterauth"
        )
    {
        return Some(Kind::Password);
    }
    let says_key = last == b"key" && KEYS.iter().any(|word| previous.ends_with(word));
    let says_token = last.ends_with(b"token") || last == b"secret";
    if says_token && NO_TOKENS.contains(&previous) {
        return None;
    }
    let ends = |end: &&[u8]| last.ends_with(end);
    (says_key || GENERATED.iter().any(ends)).then_some(Kind::Generated)
}

/// Words of a name in lower case, the last of them: `DB_API-keyValue` is db, api, key, value.
fn words(name: &[u8]) -> Vec<Vec<u8>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let mut word = Vec::new();
    let mut previous = 0_u8;
    for (at, byte) in name.iter().enumerate() {
        let next_is_lower = name.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        let camel = byte.is_ascii_uppercase()
            && (previous.is_ascii_lowercase()
                || previous.is_ascii_digit()
                || (previous.is_ascii_uppercase() && next_is_lower));
        let joins = !byte.is_ascii_alphanumeric();
        if (camel || joins) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if !joins {
            word.push(byte.to_ascii_lowercase());
        }
        previous = *byte;
    }
    if !word.is_empty() {
        words.push(word);
    }
    let skipped = words.len().saturating_sub(WORDS_MAX);
    words.split_off(skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for name in [
            "password",
            "DB_PASSWORD",
            "dbPassword",
            "PGPASSWORD",
            "mysql_root_pwd",
            "passPhrase",
            "SMTP_PASS",
        ] {
            assert_eq!(kind(name.as_bytes()), Some(Kind::Password), "{name}");
        }
        for name in [
            "client_secret",
            "SecretAccessKey",
            "aws_secret_access_key",
            "GITHUB_TOKEN",
            "apiKey",
            "API-Key",
            "X_API_KEY",
            "SECRET_KEY_BASE",
            "authToken",
            "TOKEN_2",
            "accountKey",
            "refresh_token",
            "stripeSecretKeyLive",
        ] {
            assert_eq!(kind(name.as_bytes()), Some(Kind::Generated), "{name}");
        }
    }

    #[test]
    fn names_of_other_things() {
        for name in [
            "max_tokens",
            "input_tokens",
            "next_page_token",
            "pageToken",
            "tokenizer",
            "token_type",
            "password_hash",
            "passwordField",
            "secret_name",
            "public_key",
            "primary_key",
            "cache_key",
            "keyboard",
            "token_embd.weight",
            "bypass",
            "compass",
            "monkey",
        ] {
            assert_eq!(kind(name.as_bytes()), None, "{name}");
        }
    }
}
