//! Token estimators: integer arithmetic with a name, so that a number can say what it rests on.

pub mod message;
mod python;

use crate::policy::words;

words! {
    /// A way to estimate tokens from text. The registry is closed.
    pub enum Estimator {
        /// `ceil(bytes / 4)`. Codex CLI's rule for texts.
        B4Ceil = "b4ceil",
        /// `ceil(code points / 4)`. Maka.
        Cp4Ceil = "cp4",
        /// `round(UTF-16 units / 4)`, halves up. opencode.
        U16x4Round = "u16_4round",
        /// `ceil(UTF-16 units / 4)`. pi.
        U16x4Ceil = "u16_4ceil",
        /// `max(1, ceil(UTF-16 units of the JSON / 3))`. Cline.
        JsonU16x3Ceil = "json_u16_3ceil",
        /// A quarter for an ASCII unit, one and a half for any other UTF-16 unit, rounded down;
        /// from 100001 units on, a quarter for each. Gemini CLI.
        Gemini1 = "gemini1",
        /// Per message `ceil(code points / 4) + 3`. LangChain.
        LcApprox = "lc_approx",
        /// Per message `ceil(code points / 3.3) + 3`. LangChain, for Anthropic models.
        LcApprox33 = "lc_approx_3.3",
        /// `ceil(bytes of the JSON / 4) * 1.3`, rounded down. Letta.
        JsonB4x13 = "jsonb4_x1.3",
        /// Per block `ceil(UTF-16 units / 4) + 4`, and 4 per role. DeepSeek harness.
        Dsh1 = "dsh1",
        /// `ceil(bytes of an item's JSON / 4)`, with rules for reasoning and images. Codex CLI.
        CodexItem = "codex_item",
        /// Exact counts of the `cl100k_base` vocabulary, by a counter that the caller brings.
        TiktokenCl100k = "tiktoken_cl100k_base",
        /// Exact counts of the `o200k_base` vocabulary, by a counter that the caller brings.
        TiktokenO200k = "tiktoken_o200k_base",
        /// A tokenizer that is not part of this registry: what needs it is refused.
        External = "external",
        /// No estimate: the policy asks for none.
        None = "none",
    }
}

impl Estimator {
    /// The id used in policies and reports.
    pub fn id(self) -> &'static str {
        self.word()
    }

    /// Estimated tokens of a body of so many bytes: a quarter, rounded up.
    pub fn tokens(self, body_bytes: u64) -> u64 {
        body_bytes.div_ceil(4)
    }
}
