//! Values that stand in for a secret: examples, variables, sequences, masks.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::words;

/// Words that say that a value is none, in lower case.
const MARKS: [&[u8]; 24] = [
    b"example",
    b"redacted",
    b"changeme",
    b"change_me",
    b"change-me",
    b"placeholder",
    b"dummy",
    b"sample",
    b"insert",
    b"replace",
    b"your_",
    b"your-",
    b"yourpass",
    b"yourtoken",
    b"yourapi",
    b"yoursecret",
    b"yourkey",
    b"xxxxx",
    b"*****",
    b"opensesame",
    b"open sesame",
    b"<your",
    b"fake",
    b"not-a-real",
];

/// Words that passwords in documentation consist of, the longest first.
const WORDS: [&[u8]; 46] = [
    b"administrator",
    b"credentials",
    b"credential",
    b"passphrase",
    b"postgresql",
    b"cleartext",
    b"plaintext",
    b"superuser",
    b"connection",
    b"undefined",
    b"password",
    b"postgres",
    b"username",
    b"database",
    b"optional",
    b"required",
    b"testing",
    b"default",
    b"private",
    b"passwd",
    b"secret",
    b"string",
    b"access",
    b"please",
    b"bearer",
    b"client",
    b"server",
    b"sekret",
    b"secure",
    b"strong",
    b"super",
    b"token",
    b"value",
    b"admin",
    b"guest",
    b"login",
    b"mysql",
    b"redis",
    b"hello",
    b"world",
    b"test",
    b"user",
    b"root",
    b"pass",
    b"key",
    b"my",
];

/// Returns true if `value` is no secret by what it says of itself.
pub(crate) fn is_fake(value: &[u8]) -> bool {
    is_marked(value) || is_sequence(value)
}

/// Returns true if a mark such as `example` stands in it.
pub(crate) fn is_marked(value: &[u8]) -> bool {
    static SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
        builder.build(MARKS).expect("two dozen short words fit an automaton")
    });
    SEARCH.is_match(value.get(..super::LOOKED_AT_BYTES).unwrap_or(value))
}

/// Returns true if a token with a prefix of its provider says that it is an example.
pub(crate) fn is_example(token: &[u8]) -> bool {
    const MARKS: [&[u8]; 8] =
        [b"example", b"xxxxx", b"redacted", b"placeholder", b"your-", b"your_", b"*****", b"....."];
    let token = token.get(..super::LOOKED_AT_BYTES).unwrap_or(token).to_ascii_lowercase();
    MARKS.iter().any(|mark| memchr::memmem::find(&token, mark).is_some())
}

/// Returns true if most bytes are the ones before them, or their neighbors in the alphabet.
pub(crate) fn is_sequence(value: &[u8]) -> bool {
    value.len() >= 4 && steps(value) * 10 >= (value.len() - 1) * 6
}

/// How many bytes are the ones before them, or their neighbors in the alphabet.
fn steps(value: &[u8]) -> usize {
    let is_step = |pair: &[u8]| match pair {
        [a, b] => a.abs_diff(*b) <= 1,
        _ => false,
    };
    value.windows(2).filter(|pair| is_step(pair)).count()
}

/// Returns true if a value consists of words that stand for secrets, numbers and signs:
/// `password123`, `my-secret`, `S3cretT0ken`.
pub(crate) fn is_words_for_secrets(value: &[u8]) -> bool {
    let plain: Vec<u8> = value.iter().map(|byte| leet(byte.to_ascii_lowercase())).collect();
    let (mut at, mut left, mut letters_left) = (0, 0, 0);
    while let Some(rest) = plain.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(word) = WORDS.iter().find(|word| rest.starts_with(word)) {
            at += word.len();
            continue;
        }
        let byte = value.get(at).copied().unwrap_or_default();
        if byte.is_ascii_alphabetic() {
            letters_left += 1;
        }
        left += 1;
        at += 1;
    }
    left < value.len() && letters_left <= 2 && left <= 6
}

/// The letter that a digit or sign often stands for.
const fn leet(byte: u8) -> u8 {
    match byte {
        b'0' => b'o',
        b'1' | b'!' => b'i',
        b'3' => b'e',
        b'4' | b'@' => b'a',
        b'5' | b'$' => b's',
        b'7' => b't',
        _ => byte,
    }
}

/// Returns true if a value is one or more plain words: letters that words have, with signs that
/// join words.
pub(crate) fn is_words(value: &[u8]) -> bool {
    let joins = |byte: &u8| matches!(byte, b'-' | b'_' | b'.' | b' ' | b'/' | b':' | b'~');
    value.split(joins).all(|word| {
        let digits = word.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (word, _number) = word.split_at(word.len() - digits.min(4));
        word.iter().all(u8::is_ascii_alphabetic) && !words::are_unlikely(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_and_sequences_are_fake() {
        for value in [
            "AKIAIOSFODNN7EXAMPLE",
            "sk-xxxxxxxxxxxxxxxx",
            "your_token_here",
            "0123456789abcdef",
            "aaaaaaaaaaaa",
            "change-me-now",
        ] {
            assert!(is_fake(value.as_bytes()), "{value}");
        }
        for value in ["a1B2c3D4e5F6g7H8", "3b18e512dba79e4c", "hunter2x9"] {
            assert!(!is_fake(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn words_for_secrets_are_none() {
        for value in ["password123", "my-secret", "S3cretT0ken!", "secret_key", "testtest1"] {
            assert!(is_words_for_secrets(value.as_bytes()), "{value}");
        }
        for value in ["k3v9x2ma", "correct-horse", "Pa55-kx92hq"] {
            assert!(!is_words_for_secrets(value.as_bytes()), "{value}");
        }
    }
}
