//! Options of programs that take a password: `curl -u user:pw`, `mysql -ppw`, `sshpass -p pw`.

use super::accept::{self, Form};
use super::header::is_password;
use super::name::Kind;
use super::text::{Short, Text};
use super::{Flags, Found, Judgement, Place};

/// How far the command line behind the name of the program is read.
const LINE_BYTES_MAX: usize = 512;

/// An option whose value is a password.
struct Flag {
    program: &'static [u8],
    option: &'static [u8],
    /// The value is `user:password`.
    pair: bool,
    /// The value may follow without a blank.
    glued: bool,
}

const fn option(program: &'static [u8], option: &'static [u8], pair: bool, glued: bool) -> Flag {
    Flag { program, option, pair, glued }
}

const OPTIONS: [Flag; 10] = [
    option(b"curl ", b"-u", true, true),
    option(b"curl ", b"--user", true, false),
    option(b"curl ", b"--proxy-user", true, false),
    option(b"curl ", b"-U", true, false),
    option(b"sshpass ", b"-p", false, true),
    option(b"mysql", b"-p", false, true),
    option(b"mariadb", b"-p", false, true),
    option(b"redis-cli ", b"-a", false, false),
    option(b"docker login", b"-p", false, false),
    option(b"--user ", b"", true, true),
];

pub(crate) fn judge(place: &Place<'_>) -> Result<Judgement, Short> {
    let text = place.text();
    let anchor = text.bytes.get(place.start..place.end).unwrap_or_default();
    let (mut found, mut until) = (Vec::new(), place.end);
    for flag in OPTIONS.iter().filter(|flag| flag.program == anchor) {
        if flag.option.is_empty() {
            found.extend(value(&text, place.end, flag)?);
            continue;
        }
        let end = text.run(place.end, LINE_BYTES_MAX, |byte| byte != b'\n' && byte != b'\r')?;
        let line = text.bytes.get(place.end..end).unwrap_or_default();
        until = end;
        for at in memchr::memmem::find_iter(line, flag.option) {
            let starts = at == 0 || line.get(at - 1).is_some_and(|byte| *byte == b' ');
            if starts {
                found.extend(value(&text, place.end + at + flag.option.len(), flag)?);
            }
        }
    }
    found.sort_by_key(|found| found.start);
    found.dedup_by_key(|found| found.start);
    Ok(Judgement::several(found, until))
}

fn value(text: &Text<'_>, from: usize, flag: &Flag) -> Result<Option<Found>, Short> {
    let glue_end = text.run(from, 4, |byte| matches!(byte, b' ' | b'='))?;
    if glue_end == from && !flag.glued {
        return Ok(None);
    }
    if glue_end > from && matches!(flag.program, b"mysql" | b"mariadb") {
        return Ok(None);
    }
    let (start, end) = if let Some(quote) = text.quote(glue_end)? {
        let start = glue_end + quote.len();
        let Some(end) = text.quoted_end(start, quote, LINE_BYTES_MAX)? else { return Ok(None) };
        (start, end)
    } else {
        let bare = |byte: u8| byte.is_ascii_graphic() && !b"\"'`\\|>".contains(&byte);
        (glue_end, text.run(glue_end, LINE_BYTES_MAX, bare)?)
    };
    let value = text.bytes.get(start..end).unwrap_or_default();
    let start = if flag.pair {
        let Some(colon) = value.iter().position(|byte| *byte == b':') else { return Ok(None) };
        start + colon + 1
    } else {
        start
    };
    let password = text.bytes.get(start..end).unwrap_or_default();
    let good = if flag.pair {
        is_password(password) && !password.starts_with(b"//")
    } else {
        accept::is_secret(Kind::Password, Form::Placed, password)
    };
    Ok(good.then_some(Found { start, end, flags: Flags::default() }))
}
