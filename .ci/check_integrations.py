"""Reads the reports of a build, action.yml and the pre-commit hook as their readers would.

usage: check_integrations.py REPORTS HOOK-OUT

Writes the hook's entry line to HOOK-OUT.
"""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import yaml

reports, hook_out = map(Path, sys.argv[1:])


def check_reports():
    root = ElementTree.parse(reports / "verify.xml").getroot()
    suites = [root] if root.tag == "testsuite" else root.findall("testsuite")
    bad = [case for suite in suites for case in suite.iter("testcase")
           if case.find("failure") is not None or case.find("error") is not None]
    assert suites and bad, "the JUnit report does not tell of the damage"
    sarif = json.loads((reports / "verify.sarif").read_text())
    assert sarif["version"] == "2.1.0"
    assert sarif["runs"][0]["results"], "the SARIF report has no result"
    assert (reports / "verify.md").read_text().strip(), "the Markdown report is empty"


def check_action():
    text = Path("action.yml").read_text()
    action = yaml.safe_load(text)
    assert action["runs"]["using"] == "composite"
    names = set(re.findall(r"inputs\.([a-z-]+)", text))
    assert names == set(action["inputs"]), "inputs that are declared and used differ"
    steps = {step["id"] for step in action["runs"]["steps"] if "id" in step}
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash", "a composite step names its shell"
        # An input inside a script would be run as one.
        assert "${{" not in step["run"], step["name"]
    script = Path("integrations/verify.sh").read_text()
    for output in action["outputs"].values():
        step, name = re.fullmatch(
            r"\$\{\{ steps\.([a-z]+)\.outputs\.([a-z-]+) \}\}", output["value"]
        ).groups()
        assert step in steps
        assert f'"{name}=' in script, f"verify.sh does not write {name}"


def check_hook():
    (hook,) = yaml.safe_load(Path(".pre-commit-hooks.yaml").read_text())
    assert {"id", "name", "entry", "language"} <= set(hook)
    pattern = re.compile(hook["files"])
    assert pattern.search("runs/a/log/0001.seg") and pattern.search("runs/a/FORMAT")
    assert not pattern.search("src/main.rs")
    hook_out.write_text(hook["entry"] + "\n")


check_reports()
check_action()
check_hook()
