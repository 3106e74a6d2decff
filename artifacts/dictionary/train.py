"""Makes outputs-N.dict, the dictionary that packs carry for their short artifacts.

Samples are what recordings hold: strings, messages and answers of the recorded runs in
fixtures/har, without the lines that their scripted tools make up, and what common commands print
about this repository. Run it in a clone, with `zstd` on the path:

    python3 artifacts/dictionary/train.py outputs-2.dict

A dictionary that was released never changes: packs name it by its hash, and carry it. Another one
gets another number.
"""

import glob
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile

DICTIONARY_BYTES = 32768
SAMPLE_BYTES = range(300, 16385)
# Words that the scripted tools of the recorded runs draw by lot.
MADE_UP = re.compile(rb"(alpha|beta|gamma|delta|chunk|budget) (alpha|beta|gamma|view|store|chunk|offset)"
                     rb"|def f\d+\(x\)")


def run(command):
    return subprocess.run(command, shell=True, capture_output=True, check=False).stdout


def strings(value):
    if isinstance(value, str):
        yield value.encode("utf-8", "replace")
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def recorded():
    for path in sorted(glob.glob("fixtures/har/*.har.zst")):
        for entry in json.loads(run(f"zstd -dcq {path}"))["log"]["entries"]:
            yield ((entry["response"].get("content") or {}).get("text") or "").encode()
            try:
                body = json.loads((entry["request"].get("postData") or {}).get("text") or "")
            except ValueError:
                continue
            yield from strings(body)
            for key in ("messages", "input", "contents"):
                for item in body.get(key) if isinstance(body.get(key), list) else []:
                    yield json.dumps(item, separators=(",", ":"), ensure_ascii=False).encode()


def printed():
    random.seed(7)
    files = run("git ls-files '*.rs' '*.py' '*.md' '*.toml' '*.sh' '*.js' '*.ts'").decode().split()
    for path in random.sample(files, 160):
        lines = f"{random.choice([1, 1, 30, 80])},+{random.choice([20, 40, 60, 100, 150])}p"
        yield run(f"sed -n {lines} {path}")
        yield run(f"cat -n {path} | sed -n {lines}")
    folders = ["artifacts/src", "ledger/src", "cli/src/cmd", "replay/src", "docs", "capture/src"]
    for word in ["fn ", "error", "struct", "test", "import", "return", "path", "None", "config"]:
        for folder in folders:
            yield run(f"grep -rn '{word}' {folder} | shuf -n 40 --random-source=Cargo.lock")
            yield run(f"grep -rln '{word}' {folder} | head -50")
    for folder in folders:
        yield run(f"ls -la {folder}").replace(b"root root", b"user user")
        yield run(f"find {folder} -maxdepth 2 | head -80")
        yield run(f"wc -l {folder}/*")
    for skip in range(0, 60, 2):
        yield run(f"git log --stat -n 3 --skip={skip}")
        yield run(f"git log --oneline -n 30 --skip={skip}")
        yield run(f"git show HEAD~{skip} | head -120")


def main(into):
    with tempfile.TemporaryDirectory() as folder:
        for sample in list(recorded()) + list(printed()):
            if len(sample) in SAMPLE_BYTES and not MADE_UP.search(sample):
                name = hashlib.sha256(sample).hexdigest()
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(sample)
        print(len(os.listdir(folder)), "samples")
        subprocess.run(f"zstd -q --train {folder}/* --maxdict={DICTIONARY_BYTES} -o {into}",
                       shell=True, check=True)


main(sys.argv[1])
