//! Golden bytes of the kinds about identities; see `golden`.

pub(super) const SESSION_RESET: &str = "
    03000000                                     | session
    01000000                                     | reason, not found
";

pub(super) const SESSION_CLOSED: &str = "
    03000000                                     | session
";

pub(super) const ALIASES_ADVERTISED: &str = "
    03000000                                     | session
    0100000000000000                             | servers
    00000000 0300000000000000 6c6162             | server, inline `lab`
    0200000000000000                             | tools
    00000000 0200000000000000 6c73               | tool, inline `ls`
    00000000 0200000000000000 726d               | tool, inline `rm`
";

pub(super) const PRINCIPAL_MINTED: &str = "
    a1*16                                        | principal
    04000000                                     | reason, fork
    01000000                                     | continues, unknown
";

pub(super) const PRINCIPAL_BOUND: &str = "
    a1*16                                        | principal
    00000000 0400000000000000 6c756e61           | instance, inline `luna`
    01                                           | some
    00000000 0200000000000000 7031               | process, inline `p1`
";

pub(super) const PRINCIPAL_OBSERVED: &str = "
    a1*16                                        | principal
    01                                           | some
    00000000 0300000000000000 732d31             | tool_session, inline `s-1`
    0700000000000000                             | at_unix_ns
";

pub(super) const PRINCIPAL_STOPPED: &str = "
    a1*16                                        | principal
    01000000                                     | reason, removed
";

pub(super) const PRINCIPAL_FORKED: &str = "
    a2*16                                        | principal
    a1*16                                        | parent
";

pub(super) const COMPACTED: &str = "
    03000000                                     | session
    0c000000                                     | messages
    01                                           | some
    00000000 0300000000000000 73756d             | summary, inline `sum`
";

pub(super) const TURN_STARTED: &str = "
    02000000                                     | turn
    03000000                                     | session
";

pub(super) const USER_PROMPTED: &str = "
    03000000                                     | session
    01                                           | some
    02000000                                     | turn
    00000000 0200000000000000 6869               | text, inline `hi`
";

pub(super) const TURN_ACCEPTED: &str = "
    03000000                                     | session
    01                                           | some
    02000000                                     | turn
    01                                           | some
    00000000 0200000000000000 6f6b               | text, inline `ok`
    0100000000000000                             | reasoning
    00000000 0100000000000000 68                 | reasoning, inline `h`
    0200000000000000                             | calls
    08000000                                     | call
    00000000 0200000000000000 6c73               | name, inline `ls`
    00000000 0200000000000000 7b7d               | arguments, inline `{}`
    01                                           | some
    00000000 0200000000000000 6331               | provider_call, inline `c1`
    01                                           | some
    00000000 0200000000000000 6931               | provider_item, inline `i1`
    09000000                                     | call
    00000000 0200000000000000 726d               | name, inline `rm`
    00000000 0200000000000000 7b7d               | arguments, inline `{}`
    00                                           | provider_call, none
    00                                           | provider_item, none
";

pub(super) const TURN_ENDED: &str = "
    02000000                                     | turn
    03000000                                     | session
    04000000                                     | stop, no progress
    01                                           | some
    01 0f00000000000000                          | input_tokens, some
    01 0500000000000000                          | output_tokens, some
    00                                           | cache_read_tokens, none
    00                                           | cache_write_tokens, none
    00                                           | reasoning_tokens, none
    00                                           | total_tokens, none
";

pub(super) const TOOL_OBSERVED: &str = "
    08000000                                     | call
    03000000                                     | session
    01                                           | some
    02000000                                     | turn
    01000000 02000000                            | lane, bridged, double
    0400000000000000                             | names
    00000000 00000000 0100000000000000 74        | title, inline `t`
    01000000 00000000 0100000000000000 72        | raw tool, inline `r`
    02000000 00000000 0100000000000000 6d        | meta, inline `m`
    03000000 00000000 0100000000000000 66        | meta flat, inline `f`
    01                                           | some
    00000000 0400000000000000 72656164           | tool_kind, inline `read`
    01                                           | some
    00000000 0200000000000000 7b7d               | arguments, inline `{}`
    01                                           | some
    00000000 0200000000000000 6331               | provider_call, inline `c1`
";

pub(super) const TOOL_DISPATCHED: &str = "
    08000000                                     | call
    0200                                         | attempt
    01                                           | some
    00000000 0200000000000000 7b7d               | arguments, inline `{}`
    01000000                                     | correlation, queue
";

pub(super) const HOOK_PUBLISHED: &str = "
    00000000                                     | stamp, full
    00000000 04000000                            | hook, outcome
    08000000                                     | call
    03000000                                     | origin
    01                                           | some
    06000000                                     | delegation
    0700000000000000                             | revision
    01000000                                     | phase, post tool
    02000000                                     | decision, modified
    01                                           | some
    00000000 0200000000000000 6e6f               | message, inline `no`
    01                                           | some
    00000000 0200000000000000 7b7d               | arguments, inline `{}`
";

pub(super) const REVIEW_UPDATED: &str = "
    01000000                                     | stamp, partial
    01                                           | some
    01000000 08000000 02000000                   | hook, review of call, inbound
    00                                           | call, none
    01                                           | some
    03000000                                     | origin
    00                                           | revision, none
    01000000 08000000 01000000                   | review of call, permission
    02000000                                     | assessment, unresolved
    01000000                                     | inspection, operational failure
    01                                           | some
    06000000                                     | disposition, continue warning
    01                                           | some
    00000000 0200000000000000 7231               | rule, inline `r1`
    00                                           | reason, none
    0100000000000000                             | sources
    00000000 0100000000000000 61                 | source, inline `a`
";

pub(super) const TOOL_ENDED: &str = "
    08000000                                     | call
    0200                                         | attempt
    03000000                                     | outcome, denied
    01                                           | some
    01000000 08000000 00000000                   | held by review of call, action
    01                                           | some
    00000000 0200000000000000 5b5d               | raw, inline `[]`
";

pub(super) const RESULT_SETTLED: &str = "
    08000000                                     | call
    01000000 08000000 02000000                   | review of call, inbound
    01                                           | released
";

pub(super) const APPROVAL_ASKED: &str = "
    05000000                                     | ask
    08000000                                     | call
    03000000                                     | origin
    00                                           | delegation, none
    01                                           | some
    01000000 08000000 00000000                   | review of call, action
    02000000                                     | asker, hook guardrail
    0200000000000000                             | options
    00000000 0100000000000000 79                 | option, inline `y`
    00000000                                     | kind, allow once
    00000000 0100000000000000 78                 | option, inline `x`
    04000000                                     | kind, other
    01                                           | some
    00000000 0100000000000000 71                 | foreign_ask, inline `q`
";

pub(super) const APPROVAL_ANSWERED: &str = "
    00000000                                     | receipt, exact
    05000000                                     | ask
    08000000                                     | call
    03000000                                     | origin
    00                                           | review, none
    04000000                                     | verdict, cancelled
    01                                           | some
    00000000 0100000000000000 79                 | option, inline `y`
";

pub(super) const APPROVAL_RETRACTED: &str = "
    05000000                                     | ask
    02000000                                     | reason, session gone
";

pub(super) const SUBAGENT_SPAWNED: &str = "
    03000000                                     | parent
    08000000                                     | delegation
    00000000 04000000                            | child, session
";

pub(super) const SUBAGENT_ENDED: &str = "
    08000000                                     | delegation
    01000000                                     | child, run
    c1*16                                        | run
    00000000                                     | outcome, completed
    01                                           | some
    00000000 0400000000000000 646f6e65           | output, inline `done`
";
