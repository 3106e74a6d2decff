#!/usr/bin/env python3
"""Turns a gitleaks configuration into artifacts/src/redact/rules/gitleaks.rs.

Run once for a version of the configuration; the result is checked in:

    python3 artifacts/rules/convert_gitleaks.py gitleaks.toml VERSION > \
        artifacts/src/redact/rules/gitleaks.rs

What changes on the way, and why:
- the optional run of name bytes before an identifier goes, since matching starts at the keyword;
- marks around a value may be escaped, and more bytes end a value, since texts are found inside
  JSON strings, terminals and markup, too;
- rules of which a rule of our own finds the same and more are left out (SKIPPED), and so are
  those about names of files.
"""
import hashlib
import re
import sys
import tomllib

SKIPPED = {
    "aws-access-token", "generic-api-key", "curl-auth-header", "curl-auth-user", "private-key",
    "jwt", "pkcs12-file", "twilio-api-key", "anthropic-api-key", "anthropic-admin-api-key",
    "gcp-api-key", "kubernetes-secret-yaml", "hashicorp-tf-password", "nuget-config-password",
    "github-pat", "github-oauth", "github-app-token", "github-refresh-token", "npm-access-token",
    "sendgrid-api-token", "azure-ad-client-secret", "slack-bot-token", "openai-api-key",
    "stripe-access-token", "huggingface-access-token",
}
LEAD = r"[\w.-]{0,50}?"
FRAMES = [
    (r'''[\s'"]{0,3}''', r'''[\s'"\\]{0,5}'''),
    (r'''[\x60'"\s=]{0,5}''', r'''[\x60'"\s=\\]{0,8}'''),
]
END = r'''(?:[\x60'"\s;]|\\[nr]|$)'''
OUR_END = r'''(?:[\x60'"\s;,\\)}\]<>&\x1b.]|$)'''


def convert(rule):
    text = rule["regex"]
    for flag in ("(?i)", ""):
        if text.startswith(flag + LEAD):
            text = flag + text[len(flag + LEAD):]
    text = text.replace("(?i:" + LEAD, "(?i:")
    for theirs, ours in FRAMES:
        text = text.replace(theirs, ours)
    text = text.replace(END, OUR_END)
    keywords = rule.get("keywords", [])
    bare = re.sub(r"^(?:\(\?i\)|\\b|\(\?:|\(\?i:|\()*", "", text).lower()
    plain = bare.replace("\\", "")
    anchored = all(plain.startswith(k.lower()) or k.lower() in alternatives(bare) for k in keywords)
    return keywords, anchored, text


def alternatives(bare):
    """The literals between which the pattern chooses first."""
    head = bare.split(")")[0]
    return [part.replace("\\", "").split("(")[0].split("[")[0] for part in head.split("|")]


def rust(text):
    return 'r"' + text + '"' if '"' not in text else 'r#"' + text + '"#'


def main():
    raw = open(sys.argv[1], "rb").read()
    digest = hashlib.sha256(raw).hexdigest()
    rules = tomllib.loads(raw.decode())["rules"]
    print(f"//! The rules of gitleaks {sys.argv[2]}, converted by `artifacts/rules/convert_gitleaks.py`.")
    print("//!")
    print("//! Copyright (c) 2019 Zachary Rice, MIT license, see `artifacts/rules/THIRD_PARTY.md`.")
    print(f"//! SHA-256 of the configuration: {digest}.")
    print()
    print("use super::Rule;")
    print("use super::pattern::pattern;")
    print()
    print("#[rustfmt::skip]")
    kept = [(n, r) for n, r in enumerate(rules, 1) if r.get("regex") and r["id"] not in SKIPPED]
    print(f"pub(crate) static GITLEAKS: [Rule; {len(kept)}] = [")
    for number, rule in kept:
        keywords, anchored, text = convert(rule)
        entropy = int(rule.get("entropy", 0) * 1000)
        words = ", ".join('"' + word + '"' for word in keywords)
        assert '"#' not in text, rule["id"]
        print(f'    pattern({1000 + number}, "x{number:03}", "{rule["id"]}", &[{words}], '
              f'{str(anchored).lower()}, {entropy}, {rust(text)}),')
    print("];")


main()
