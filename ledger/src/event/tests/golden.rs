//! The stored bytes of one event of each kind, as text: hexadecimal bytes (`aa*32` for a run of
//! one byte) up to the bar, what they are behind it. Written down from the layout and not by the
//! encoder. They never change: a changed struct is a new kind version beside the old one.

pub(super) const RUN_OPENED: &str = "
    00112233445566778899aabbccddeeff             | run
    01000000                                     | origin, har
    01                                           | some
    00000000 0500000000000000 612e686172         | source, inline `a.har`
    0500000000000000 302e312e30                  | recorder `0.1.0`
    0400000000000000 636f7265                    | ruleset id `core`
    01000000                                     | ruleset version
    aa*32                                        | ruleset digest
    0807060504030201                             | opened_unix_ns
";

pub(super) const RUN_CLOSED: &str = "
    01                                           | complete
    01                                           | some
    bb*32                                        | source_digest
    0700000000000000                             | source_records
    0200000000000000                             | source_unknown
";

pub(super) const SESSION_OPENED: &str = "
    03000000                                     | session
    01                                           | some
    01000000                                     | parent
    02000000                                     | basis, side
    01                                           | some
    01000000 cc*32 2823000000000000              | client_session, stored
    0200000000000000                             | aliases
    00000000 0200000000000000 7368               | alias, inline `sh`
    00000000 0000000000000000                    | alias, inline ``
";

pub(super) const MESSAGE_ADDED: &str = "
    01000000                                     | session
    0700000000000000                             | added
    00000000                                     | part, new
    dd*32                                        | digest
    00000000                                     | skeleton, new
    04                                           | part kind, message
    02                                           | role, user
    00000000 0200000000000000 7b7d               | literal, inline `{}`
    0600000000000000                             | slots
    01000000 01 0001                             | offset, kind, group
    01000000 02 0101                             | offset, kind, group
    01000000 03 0201                             | offset, kind, group
    01000000 04 0301                             | offset, kind, group
    01000000 05 0401                             | offset, kind, group
    01000000 06 0501                             | offset, kind, group
    0600000000000000                             | holes
    21 0500000000000000                          | escape, escaped_bytes
    00000000                                     | value, own
    00000000 0200000000000000 6869               | content, inline `hi`
    00 0500000000000000                          | escape, escaped_bytes
    01000000 06000000 0700                       | value, answer text: request, item
    00 0500000000000000                          | escape, escaped_bytes
    02000000 06000000 0700                       | value, answer call id: request, item
    00 0500000000000000                          | escape, escaped_bytes
    03000000 06000000 0700                       | value, answer item id: request, item
    00 0500000000000000                          | escape, escaped_bytes
    04000000 06000000 0700                       | value, answer tool name: request, item
    80 0500000000000000                          | escape, escaped_bytes
    05000000 08000000 0100                       | value, output: call, index
    00000000 06000000                            | cause, answer to request
    00000000                                     | part, new
    ee*32                                        | digest
    01000000 04000000                            | skeleton, known
    0000000000000000                             | holes
    01000000 08000000                            | cause, result of call
    01000000 09000000                            | part, known
    02000000                                     | cause, user input
    01000000 09000000                            | part, known
    03000000                                     | cause, inserted
    01000000 09000000                            | part, known
    04000000                                     | cause, returned
    01000000 09000000                            | part, known
    05000000 01000000                            | cause, unlinked, no such call
    01000000 09000000                            | part, known
    05000000 02000000                            | cause, unlinked, second result
";

pub(super) const CONTEXT_EDITED: &str = "
    02000000                                     | session
    0200000000000000                             | splices
    01000000 03000000                            | at, remove
    0100000000000000                             | insert
    01000000 05000000                            | part, known
    05000000 00000000                            | cause, unlinked, no such answer
    06000000 01000000                            | at, remove
    0000000000000000                             | insert
";

pub(super) const REQUEST_CAPTURED: &str = "
    05000000                                     | request
    01000000                                     | session
    0200                                         | attempt
    01                                           | some
    04000000                                     | attempt_of
    03                                           | dialect
    01                                           | some
    00000000 0300000000000000 6d2d31             | model, inline `m-1`
    e803000000000000                             | body_bytes
    01*32                                        | body_digest
    10*32                                        | component digest, system
    11*32                                        | component digest, tools
    12*32                                        | component digest, options
    13*32                                        | component digest, messages
    02000000                                     | rung, exact-modulo-redaction
    01000000                                     | redactions
    01                                           | some
    0400000000000000 7a737464                    | content_coding `zstd`
    9001000000000000                             | sent_bytes
    01                                           | some
    00000000 0100000000000000 70                 | policy, inline `p`
    01                                           | some
    0300000000000000 776879                      | unsplit reason `why`
    01                                           | some
    03000000                                     | base
    00000000 0100000000000000 2c                 | separator, inline `,`
    01                                           | escape
    0100000000000000                             | head splices
    00000000 01000000                            | at, remove
    0100000000000000                             | insert
    01000000 02000000                            | part, known
    0100000000000000                             | item splices
    04000000 00000000                            | at, remove
    0200000000000000                             | insert
    0a000000 0b000000                            | parts
    0100000000000000                             | tail splices
    00000000 00000000                            | at, remove
    0000000000000000                             | insert
    0100000000000000                             | overlays
    05000000 11000000                            | item, offset
    00000000 0200000000000000 2c63               | bytes, inline `,c`
";

pub(super) const REQUEST_DISPATCHED: &str = "
    05000000                                     | request
    01                                           | some
    00002a36fe9c9717                             | at_unix_ns
    00000000 0400000000000000 504f5354           | method, inline `POST`
    00000000 0300000000000000 2f7631             | url, inline `/v1`
    00000000                                     | headers, full
    0100000000000000                             | fields
    00000000 0100000000000000 61                 | name, inline `a`
    00000000 0100000000000000 62                 | value, inline `b`
";

pub(super) const RESPONSE_RECEIVED: &str = "
    05000000                                     | request
    c800                                         | status
    01                                           | some
    dc05000000000000                             | time_us
    01000000 04000000                            | headers, changed: of
    0100000000000000                             | values
    0300                                         | position
    00000000 0100000000000000 76                 | value, inline `v`
    01                                           | some
    01000000 20*32 7011010000000000              | body, stored
    00                                           | body_withheld
    0400000000000000                             | items
    00000000 01                                  | item, text, complete
    00000000 0100000000000000 74                 | text, inline `t`
    01                                           | some
    00000000 0100000000000000 69                 | item_id, inline `i`
    00                                           | call_id, none
    00                                           | name, none
    01000000 01                                  | item, thinking, complete
    00000000 0100000000000000 68                 | text, inline `h`
    00                                           | item_id, none
    00                                           | call_id, none
    00                                           | name, none
    02000000 00                                  | item, tool call, incomplete
    00000000 0100000000000000 7b                 | text, inline `{`
    00                                           | item_id, none
    01                                           | some
    00000000 0100000000000000 63                 | call_id, inline `c`
    01                                           | some
    00000000 0100000000000000 6e                 | name, inline `n`
    03000000 01                                  | item, opaque, complete
    00000000 0000000000000000                    | text, inline ``
    00                                           | item_id, none
    00                                           | call_id, none
    00                                           | name, none
    01                                           | some
    01 0100000000000000                          | input_tokens, some
    01 0200000000000000                          | output_tokens, some
    01 0300000000000000                          | cache_read_tokens, some
    00                                           | cache_write_tokens, none
    01 0000000000000000                          | reasoning_tokens, some
    01 0900000000000000                          | total_tokens, some
    01                                           | some
    00000000 0300000000000000 656e64             | stop, inline `end`
    01                                           | some
    00000000 0100000000000000 72                 | answer_id, inline `r`
    01000000                                     | unparsed_events
";

pub(super) const RESPONSE_FAILED: &str = "
    06000000                                     | request
    0000                                         | status
    00                                           | time_us, none
    00000000                                     | headers, full
    0000000000000000                             | fields
    00                                           | body, none
    00                                           | body_withheld
    0000000000000000                             | items
    00                                           | usage, none
    00                                           | stop, none
    00                                           | answer_id, none
    00000000                                     | unparsed_events
";

pub(super) const RESPONSE_ABORTED: &str = "
    06000000                                     | request
    c800                                         | status
    00                                           | time_us, none
    00000000                                     | headers, full
    0000000000000000                             | fields
    00                                           | body, none
    01                                           | body_withheld
    0000000000000000                             | items
    00                                           | usage, none
    00                                           | stop, none
    00                                           | answer_id, none
    00000000                                     | unparsed_events
";

pub(super) const TOOL_CALLED: &str = "
    08000000                                     | call
    05000000                                     | request
    0200                                         | item
";

pub(super) const TOOL_RETURNED: &str = "
    08000000                                     | call
    0200000000000000                             | output
    01000000 30*32 0400000000000000              | text, stored
    0300000000000000 0400000000000000 0100000000000000 | chars, utf16, line_feeds
    00000000 0000000000000000                    | text, inline ``
    0000000000000000 0000000000000000 0000000000000000 | chars, utf16, line_feeds
    01000000 0c00000000000000                    | dropped, bytes
    01000000                                     | redactions
";

pub(super) const OUTPUT_FOUND: &str = "
    08000000                                     | call
    0200                                         | index
    0500000000000000 7370696c6c                  | source `spill`
    0700000000000000                             | record
    0200000000000000                             | pieces
    01000000 31*32 0400000000000000              | text, stored
    0300000000000000 0400000000000000 0100000000000000 | chars, utf16, line_feeds
    00000000 0100000000000000 7a                 | text, inline `z`
    0000000000000000 0000000000000000 0000000000000000 | chars, utf16, line_feeds
    00000000                                     | dropped, unknown
    01000000                                     | redactions
";

pub(super) const REDACTION_FAILED: &str = "
    0600000000000000 6661696c6564                | reason `failed`
    0010000000000000                             | raw_bytes
";

pub(super) const REDACTION_CONFIGURED: &str = "
    0600000000000000 637573746f6d                | ruleset id `custom`
    03000000                                     | ruleset version
    ab*32                                        | ruleset digest
    01 0102030405060708                          | some, key
    0100000000000000                             | known
    0700000000000000 4150495f4b4559              | name `API_KEY`
    01000000                                     | known_values
";

pub(super) const SPANS_REPLACED: &str = "
    cd*32                                        | text
    5802000000000000                             | raw_bytes
    0100000000000000                             | spans
    0300 1000000000000000                        | rule, offset
    2800000000000000 2800000000000000            | bytes, raw_bytes
    01                                           | flags
";

pub(super) const IMPORTED_RECORD: &str = "
    0300000000000000                             | index
    0010000000000000                             | offset
    0600000000000000 6e6f2075726c                | reason `no url`
    00000000 0200000000000000 7b7d               | bytes, inline `{}`
";

/// The bytes that a text of this file stands for.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    let byte = |digits: &str| u8::from_str_radix(digits, 16).unwrap();
    let mut out = Vec::new();
    for line in text.lines() {
        for token in line.split('|').next().unwrap_or_default().split_whitespace() {
            if let Some((digits, count)) = token.split_once('*') {
                out.resize(out.len() + count.parse::<usize>().unwrap(), byte(digits));
            } else {
                out.extend((0..token.len()).step_by(2).map(|at| byte(&token[at..at + 2])));
            }
        }
    }
    out
}
