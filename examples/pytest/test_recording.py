"""A recorded run of a harness as a test: what was sent is on record, and the check is awake."""

import json
import shutil


def verified(counterfold, folder, *words):
    """Exit code and document of `counterfold verify`."""
    done = counterfold("verify", folder, "--format", "json", *words)
    return done.returncode, json.loads(done.stdout)


def test_every_request_comes_back_byte_for_byte(counterfold, recording):
    code, document = verified(counterfold, recording)
    assert code == 0, document
    assert document["schema"] == "counterfold.verify/1"
    assert document["ok"]
    (entry,) = document["recordings"]
    counts = entry["counts"]
    assert counts["requests"] > 0
    assert counts["identical"] == counts["requests"]
    for request in entry["requests"]:
        assert request["reassembly"] == "identical", request
        assert request["projection"] == "identical", request


def test_a_rung_that_the_recording_cannot_have_is_a_finding(counterfold, recording):
    # An imported run has the bodies, not the bytes of the connection.
    code, document = verified(counterfold, recording, "--min-rung", "wire-exact")
    assert code == 1
    assert not document["ok"]


def test_a_damaged_copy_does_not_pass(counterfold, recording, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(recording, copy)
    pack = max((copy / "art").glob("*.pack"), key=lambda path: path.stat().st_size)
    content = bytearray(pack.read_bytes())
    content[len(content) // 2] ^= 1
    pack.write_bytes(content)
    code, document = verified(counterfold, copy)
    assert code == 2
    assert not document["ok"]


def test_every_injected_change_is_caught(counterfold, recording):
    done = counterfold("selftest", recording, "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "counterfold.selftest/1"
    for row in document["classes"]:
        assert row["caught"] == row["injected"] or row["forgiven_by_design"], row
