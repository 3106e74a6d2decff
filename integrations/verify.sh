#!/usr/bin/env bash
# Verifies recordings the way a build does: annotations on standard output, reports in a folder,
# and the exit code of `counterfold verify`. The GitHub Action is this script; anyone can run it.
#
# usage: integrations/verify.sh [RECORDING...]
#
#   COUNTERFOLD             the program; `counterfold` unless set
#   COUNTERFOLD_RECORDINGS  recordings or folders of recordings, one a line, besides the words
#   COUNTERFOLD_ARGS        further arguments of `verify`, one a line
#   COUNTERFOLD_REPORTS     the folder of the reports; `counterfold-reports` unless set
#
# It leaves verify.xml (JUnit), verify.sarif and verify.md in the folder, whatever the outcome.
set -euo pipefail

program=${COUNTERFOLD:-counterfold}
reports=${COUNTERFOLD_REPORTS:-counterfold-reports}

recordings=("$@")
while IFS= read -r line; do
    [ -z "$line" ] || recordings+=("$line")
done <<<"${COUNTERFOLD_RECORDINGS:-}"
args=()
while IFS= read -r line; do
    [ -z "$line" ] || args+=("$line")
done <<<"${COUNTERFOLD_ARGS:-}"

if [ ${#recordings[@]} -eq 0 ]; then
    echo "error: no recording is named" >&2
    exit 2
fi

mkdir -p "$reports"
code=0
"$program" verify --github --junit "$reports/verify.xml" --sarif "$reports/verify.sarif" \
    --markdown "$reports/verify.md" ${args[@]+"${args[@]}"} -- "${recordings[@]}" || code=$?

if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -f "$reports/verify.md" ]; then
    cat "$reports/verify.md" >>"$GITHUB_STEP_SUMMARY"
fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    {
        echo "exit-code=$code"
        echo "junit=$reports/verify.xml"
        echo "sarif=$reports/verify.sarif"
        echo "markdown=$reports/verify.md"
    } >>"$GITHUB_OUTPUT"
fi
exit "$code"
