"""Fixtures for tests over recordings: the program, and a run imported from a HAR file."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def pytest_addoption(parser):
    parser.addoption(
        "--har",
        default=str(HERE / "../../fixtures/har/mini-std.har.zst"),
        help="the HAR file to test, plain or compressed",
    )


@pytest.fixture(scope="session")
def counterfold():
    """Runs counterfold with some words; the result has returncode, stdout and stderr."""
    program = os.environ.get("COUNTERFOLD") or shutil.which("counterfold")
    # A gate that skips when its tool is missing is always green.
    assert program, "counterfold is not on the PATH, and COUNTERFOLD does not name it"

    def run(*words):
        command = [program, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="session")
def recording(counterfold, pytestconfig, tmp_path_factory):
    """The folder of the imported run."""
    into = tmp_path_factory.mktemp("runs")
    har = pytestconfig.getoption("--har")
    done = counterfold("import", "har", har, "--into", into, "--format", "json")
    assert done.returncode == 0, done.stderr
    (file,) = json.loads(done.stdout)["files"]
    assert file["complete"], "the HAR file was not read to its end"
    return Path(file["path"])
