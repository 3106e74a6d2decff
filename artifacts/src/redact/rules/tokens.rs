//! Tokens that their first letters tell: the formats that providers publish.
//!
//! Lengths are those of real tokens with room to both sides, because providers make them longer
//! without notice. Prefixes that are also words need more evidence, see [`Test`].

use super::{Class, Rule, Shape};

/// One format of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// What it starts with.
    pub(crate) anchors: &'static [&'static str],
    /// What it consists of behind the anchor.
    pub(crate) class: Class,
    /// The fewest and most bytes behind the anchor.
    pub(crate) bytes: (usize, usize),
    pub(crate) test: Test,
    /// What it consists of before the anchor, and how many bytes at least and at most.
    pub(crate) behind: Option<(Class, usize, usize)>,
}

/// What the bytes behind the anchor have to show beside their class and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// That they are no example.
    Real,
    /// A digit, too.
    Digit,
    /// A piece that looks random, too: the prefix is also a word or a part of one.
    Random,
    /// That they are a UUID.
    Uuid,
    /// So many dots, at least, with something random between them.
    Dots(u8),
    /// Nothing: the anchor and the length say all.
    Any,
}

const MAX: usize = 4096;

const fn token(
    id: u16,
    name: &'static str,
    about: &'static str,
    anchors: &'static [&'static str],
    shape: (Class, usize, usize, Test),
) -> Rule {
    let (class, least, most, test) = shape;
    let shape = Shape::Token(Token { anchors, class, bytes: (least, most), test, behind: None });
    Rule { id, name, about, shape }
}

/// A token with its anchor in the middle.
const fn inner(
    id: u16,
    name: &'static str,
    about: &'static str,
    anchors: &'static [&'static str],
    behind: (Class, usize, usize),
    shape: (Class, usize, usize, Test),
) -> Rule {
    let (class, least, most, test) = shape;
    let behind = Some(behind);
    let shape = Shape::Token(Token { anchors, class, bytes: (least, most), test, behind });
    Rule { id, name, about, shape }
}

use Class::{Alnum, Base64, Base64Url, Digits, Hex, Path, UpperAlnum, Url, UrlDot, UrlDotTilde};
use Test::{Any, Digit, Dots, Random, Real, Uuid};

/// All of them.
#[rustfmt::skip]
pub(crate) static TOKENS: [Rule; 76] = [
    token(1, "antk", "Anthropic key", &["sk-ant-"], (Url, 16, 400, Real)),
    token(2, "oaik", "OpenAI key, and keys of its form", &["sk-"], (Url, 20, 400, Random)),
    token(3, "ghtk", "GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], (Alnum, 30, 255, Real)),
    token(4, "ghpa", "GitHub fine-grained token", &["github_pat_"], (Url, 22, 255, Real)),
    token(5, "slck", "Slack token", &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxe-", "xoxc-", "xoxd-"], (Url, 20, 400, Digit)),
    token(6, "awsk", "AWS access key id", &["AKIA", "ASIA", "ABIA", "ACCA"], (UpperAlnum, 16, 16, Real)),
    token(7, "goog", "Google API key", &["AIza"], (Url, 35, 35, Real)),
    token(8, "glab", "GitLab token", &["glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glcbt-", "glffct-", "glwt-"], (UrlDot, 20, 320, Real)),
    token(9, "hugf", "Hugging Face token", &["hf_"], (Alnum, 30, 60, Real)),
    token(10, "npmt", "npm token", &["npm_"], (Alnum, 36, 60, Real)),
    token(11, "pypi", "PyPI token", &["pypi-AgE"], (Url, 16, MAX, Real)),
    token(18, "strp", "Stripe key", &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"], (Alnum, 10, 255, Random)),
    token(19, "whsc", "webhook signing secret", &["whsec_"], (Base64, 24, 100, Random)),
    token(20, "slka", "Slack app token", &["xapp-"], (Url, 20, 200, Digit)),
    token(21, "sgrd", "SendGrid key", &["SG."], (UrlDot, 40, 80, Dots(1))),
    token(22, "goos", "Google OAuth client secret", &["GOCSPX-"], (Url, 20, 60, Real)),
    token(23, "goot", "Google OAuth token", &["ya29."], (UrlDot, 20, MAX, Random)),
    token(24, "dckr", "Docker token", &["dckr_pat_", "dckr_oat_"], (Url, 20, 80, Real)),
    token(25, "doto", "DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_"], (Hex, 64, 64, Real)),
    token(26, "shpf", "Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_"], (Hex, 32, 64, Real)),
    token(27, "sqre", "Square token", &["sq0atp-", "sq0csp-", "sq0idp-"], (Url, 20, 64, Real)),
    token(28, "lnar", "Linear key", &["lin_api_", "lin_oauth_"], (Alnum, 32, 80, Real)),
    token(29, "notn", "Notion token", &["ntn_"], (Alnum, 40, 60, Digit)),
    token(30, "figd", "Figma token", &["figd_"], (Url, 30, 100, Real)),
    token(31, "atls", "Atlassian token", &["ATATT3", "ATCTT3", "ATBB", "ATOA"], (Base64Url, 24, 400, Random)),
    token(32, "pman", "Postman key", &["PMAK-"], (Url, 50, 70, Real)),
    token(33, "graf", "Grafana token", &["glsa_", "glc_eyJ"], (Base64Url, 30, 500, Real)),
    token(34, "nrel", "New Relic key", &["NRAK-", "NRII-", "NRJS-", "NRRA-"], (Url, 19, 64, Real)),
    token(35, "dbrk", "Databricks token", &["dapi"], (Hex, 32, 32, Real)),
    token(36, "dopl", "Doppler token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], (UrlDot, 32, 80, Random)),
    token(37, "vaul", "Vault token", &["hvs.", "hvb.", "hvr."], (Url, 20, 320, Random)),
    token(38, "pulu", "Pulumi token", &["pul-"], (Hex, 40, 40, Real)),
    token(39, "plsc", "PlanetScale token", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], (UrlDot, 32, 80, Real)),
    token(40, "supa", "Supabase token", &["sbp_", "sb_secret_"], (Url, 30, 64, Random)),
    token(41, "flyt", "Fly.io token", &["fm1r_", "fm1a_", "fm2_", "fo1_"], (Base64Url, 40, MAX, Real)),
    token(42, "cfca", "Cloudflare origin key", &["v1.0-"], (Url, 150, 200, Real)),
    token(43, "sntr", "Sentry token", &["sntrys_", "sntryu_"], (Base64Url, 40, 600, Real)),
    token(44, "bkit", "Buildkite token", &["bkua_", "bkaj_", "bkpt_"], (Alnum, 30, 64, Real)),
    token(45, "cirl", "CircleCI token", &["CCIPAT_", "CCIPRJ_"], (Url, 30, 100, Real)),
    token(46, "ruby", "RubyGems key", &["rubygems_"], (Hex, 48, 48, Real)),
    token(47, "crat", "crates.io token", &["cio"], (Alnum, 32, 32, Random)),
    token(48, "nugt", "NuGet key", &["oy2"], (Alnum, 43, 43, Random)),
    token(49, "clji", "Clojars token", &["CLOJARS_"], (Alnum, 60, 60, Real)),
    token(50, "agek", "age secret key", &["AGE-SECRET-KEY-1"], (UpperAlnum, 50, 100, Real)),
    token(51, "onep", "1Password token", &["ops_eyJ"], (Base64Url, 200, MAX, Real)),
    token(52, "tail", "Tailscale key", &["tskey-"], (Url, 20, 100, Random)),
    token(53, "groq", "Groq key", &["gsk_"], (Alnum, 40, 80, Real)),
    token(54, "pplx", "Perplexity key", &["pplx-"], (Alnum, 40, 80, Real)),
    token(55, "repl", "Replicate token", &["r8_"], (Alnum, 37, 40, Real)),
    token(56, "xaik", "xAI key", &["xai-"], (Alnum, 60, 100, Real)),
    token(57, "aikk", "key of an AI service", &["tgp_v1_", "lsv2_pt_", "lsv2_sk_", "pcsk_", "nvapi-", "pk-lf-", "fw_", "csk-", "jina_", "fc-", "tvly-", "voyage-", "wandb_v1_", "api_org_", "sk_ant_"], (Url, 24, 200, Random)),
    token(58, "mlgn", "Mailgun key", &["key-"], (Hex, 32, 32, Real)),
    token(59, "brvo", "Brevo key", &["xkeysib-", "xsmtpsib-"], (Url, 64, 100, Real)),
    token(60, "mapb", "Mapbox secret token", &["sk.eyJ"], (UrlDot, 60, 300, Dots(1))),
    token(61, "dynt", "Dynatrace token", &["dt0c01.", "dt0s01.", "dt0s16."], (UrlDot, 80, 120, Real)),
    token(62, "ctfl", "Contentful token", &["CFPAT-"], (Url, 40, 64, Real)),
    token(63, "srvc", "token of a build or delivery service", &["pnu_", "rdme_", "tk-us-", "tfp_", "ico-", "HRKU-", "fio-u-", "duffel_live_", "duffel_test_", "shippo_live_", "shippo_test_", "nfp_", "vcp_", "sgp_", "sm_aat_", "sm_pat_", "sm_sat_", "EZAK", "EZTK", "p8e-", "LTAI", "AKCp", "cmVmd", "squ_", "sqp_", "sqa_", "s-s4t2ud-", "s-s4t2af-", "FLWSECK-", "FLWSECK_TEST-", "live_pub_", "sha256~", "bedrock-api-key-", "ABSK", "dnkey-"], (Base64Url, 16, 400, Random)),
    inner(64, "tfcl", "Terraform Cloud token", &[".atlasv1."], (Alnum, 14, 14), (Url, 60, 70, Real)),
    inner(65, "azad", "Azure client secret", &["Q~"], (UrlDotTilde, 4, 4), (UrlDotTilde, 31, 34, Random)),
    token(66, "twil", "Twilio key", &["SK"], (Hex, 32, 32, Real)),
    token(67, "slwh", "Slack webhook", &["hooks.slack.com/"], (Path, 40, 120, Random)),
    token(68, "dcwh", "webhook with its secret", &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/", ".webhook.office.com/webhookb2/"], (Path, 60, 300, Random)),
    inner(69, "tele", "Telegram bot token", &[":AA"], (Digits, 5, 16), (Url, 32, 34, Random)),
    inner(70, "azok", "Azure OpenAI key", &["JQQJ99"], (Alnum, 0, 56), (Alnum, 20, 80, Real)),
    token(71, "glse", "GitLab session", &["_gitlab_session="], (Hex, 32, 64, Real)),
    token(73, "harn", "Harness key", &["pat.", "sat."], (UrlDot, 60, 80, Dots(2))),
    token(74, "glrr", "GitLab runner token", &["GR1348941"], (Url, 20, 60, Real)),
    token(75, "uuid", "key of a service with the form of a UUID", &["pat-na1-", "pat-eu1-", "sk-lf-", "sdk-", "access-sandbox-", "access-production-", "access-development-"], (Url, 36, 36, Uuid)),
    token(76, "hexk", "key of a service in hex digits", &["key_", "sk_"], (Hex, 48, 64, Real)),
    token(77, "srvk", "key of a service", &["phx_", "napi_", "rnd_", "rzp_live_", "rzp_test_", "apify_api_", "1//0"], (Url, 14, 300, Random)),
    inner(78, "mchp", "Mailchimp key", &["-us"], (Hex, 32, 32), (Digits, 1, 2, Any)),
    inner(79, "azdo", "Azure DevOps token", &["AZDO"], (Alnum, 48, 80), (Alnum, 4, 4, Any)),
    token(91, "ntno", "Notion token", &["secret_"], (Alnum, 43, 43, Digit)),
    token(92, "drbx", "Dropbox token", &["sl.B"], (Url, 60, 300, Random)),
    token(90, "rsnd", "Resend key", &["re_"], (Url, 33, 36, Random)),
    inner(72, "maxm", "MaxMind key", &["_mmk"], (Url, 36, 36), (Alnum, 0, 0, Any)),
];
