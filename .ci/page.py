"""Drives the page of a sweep in a browser and compares what it shows with the sweep's JSON."""

import json
import pathlib
import sys
import time
import urllib.error
import urllib.request

ROOT = f"http://127.0.0.1:{sys.argv[1]}"
FOLDER = pathlib.Path(sys.argv[2]).resolve()
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Escape": "\ue00c"}


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(ROOT + path, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise AssertionError(error.read().decode()) from error


def started():
    for _ in range(300):
        try:
            if call("GET", "/status")["ready"]:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise AssertionError("the driver does not answer")


class Browser:
    """A session of the browser."""

    def __init__(self):
        options = {
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--window-size=1280,900"],
        }
        wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL"}}
        session = call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.at = f"/session/{session['sessionId']}"

    def open(self, name):
        call("POST", self.at + "/url", {"url": (FOLDER / name).as_uri()})
        for _ in range(300):
            if self.run("return document.documentElement.dataset.ready") == "yes":
                return
            time.sleep(0.1)
        raise AssertionError(f"{name}: the page's script did not come to its end")

    def run(self, script, *words):
        return call("POST", self.at + "/execute/sync", {"script": script, "args": list(words)})

    def press(self, *keys):
        """Presses keys one after the other, each a name or a text."""
        actions = []
        for key in keys:
            for letter in KEYS.get(key, key):
                actions += [{"type": "keyDown", "value": letter}, {"type": "keyUp", "value": letter}]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        call("POST", self.at + "/actions", {"actions": [source]})

    def console(self):
        return call("POST", self.at + "/se/log", {"type": "browser"})

    def close(self):
        call("DELETE", self.at)


def table(browser):
    return browser.run("""return [...document.querySelectorAll('#rows tbody tr')].map(
        (line) => [...line.cells].map((cell) => cell.textContent))""")


def thousands(number):
    return "-" if number is None else f"{number:,}"


def share(part, whole):
    """Per cent with one digit, rounded half up; neither nothing nor all but where it is."""
    if not whole:
        return "-"
    tenths = (part * 1000 + whole // 2) // whole
    tenths = max(min(tenths, 999) if part < whole else tenths, 1 if part else 0)
    return f"{tenths // 10}.{tenths % 10} %"


def wanted(row):
    """Columns that can be told from the JSON without the program's own way of writing numbers."""
    name = row["recording"] or "all recordings"
    if row["error"] or not row["complete"]:
        return {0: name, 1: row["policy"], 2: thousands(row["requests"]), 4: "-", 7: "-", 9: "-"}
    cache, evidence = row["cache"], row["evidence"]
    input_tokens = cache["read"] + cache["write"] + cache["uncached"]
    recall = evidence["shown"] * 1000 // evidence["weight"] if evidence["weight"] else None
    return {
        0: name,
        1: row["policy"],
        2: thousands(row["requests"]),
        3: thousands(row["frontier"]),
        4: thousands(row["prompt_tokens"]),
        5: thousands(row["prompt_tokens_max"]),
        6: share(cache["read"], input_tokens),
        9: "-" if recall is None else f"{recall // 10}.{recall % 10} %",
        10: "-" if recall is None else share(evidence["random"] * 1000 // (8 * evidence["weight"]), 1000),
    }


def scope(browser, which):
    browser.run("""const scope = document.getElementById('scope'); scope.value = arguments[0];
        scope.dispatchEvent(new Event('change'))""", which)


def compare(browser, name, which, rows):
    scope(browser, which)
    shown = {(cells[0], cells[1]): cells for cells in table(browser)}
    assert len(shown) == len(rows), (name, which, len(shown), len(rows))
    for row in rows:
        cells = wanted(row)
        found = shown[cells[0], cells[1]]
        for at, text in cells.items():
            assert found[at] == text, (name, row["policy"], at, found[at], text)
        total = row["cost"]["total"] / 1e12
        if row["complete"] and found[7] not in ("-", "$0") and not found[7].startswith("<"):
            cost = float(found[7].replace("$", "").replace(",", ""))
            digits = len(found[7].partition(".")[2])
            assert abs(cost - total) <= 0.51 * 10**-digits, (row["policy"], found[7], total)
    return len(rows)


def keyboard(browser):
    """Everything with keys: search, sort, choose a row, read its details."""
    scope(browser, "each")
    focused = "return document.activeElement.id || document.activeElement.textContent"
    browser.press("/")
    assert browser.run(focused) == "find", "a slash goes to the search"
    browser.press("cap-4k")
    rows = table(browser)
    assert rows and all("cap-4k" in cells[1] for cells in rows), "the search filters"
    browser.run("""const find = document.getElementById('find'); find.value = '';
        find.dispatchEvent(new Event('input'))""")
    browser.press("Tab")
    assert browser.run(focused) == "scope", "behind the search is the choice of rows"
    browser.press("Tab", "Tab")
    heads = browser.run("return [...document.querySelectorAll('#rows thead button')].length")
    sorted_by = "return document.querySelector('#rows th[aria-sort$=ending]').textContent"
    browser.press("Enter")
    assert "recording" in browser.run(sorted_by), browser.run(sorted_by)
    browser.press("Tab", "Enter")
    assert "policy" in browser.run(sorted_by), "each head sorts"
    names = [cells[1] for cells in table(browser)]
    assert names == sorted(names), "rows are sorted by the head that was pressed"
    browser.press(*["Tab"] * (heads - 1))
    row = browser.run(focused)
    first = browser.run("return document.querySelector('#rows tbody button').textContent")
    assert row == first, (row, first)
    ring = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid", "what has the focus is seen"
    browser.press("Enter")
    title = browser.run("return document.activeElement.textContent")
    assert title.startswith(row), (title, "the details of a row get the focus")
    parts = browser.run("return document.querySelectorAll('#detail svg rect').length")
    assert parts > 0, "a row's requests are drawn"


def large(browser, rows):
    """A thousand rows stay readable: the heads are seen, nothing leaves the window, search is fast."""
    assert rows == 1000, rows
    found = browser.run("""
        const place = document.querySelector('.scroll');
        place.scrollTop = place.scrollHeight;
        const head = document.querySelector('#rows thead th').getBoundingClientRect();
        const box = place.getBoundingClientRect();
        const find = document.getElementById('find');
        const start = performance.now();
        find.value = 'limit=4000'; find.dispatchEvent(new Event('input'));
        document.body.getBoundingClientRect();
        return { head: head.top - box.top, scrolled: place.scrollTop,
            wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
            size: parseFloat(getComputedStyle(document.querySelector('#rows')).fontSize),
            took: performance.now() - start,
            left: document.querySelectorAll('#rows tbody tr').length }""")
    assert found["scrolled"] >= 0 and abs(found["head"]) < 3, ("the heads stay", found)
    assert found["wide"] <= 0 and found["size"] >= 12, ("nothing leaves the window", found)
    assert found["left"] == 2 and found["took"] < 2000, ("the search answers", found)


started()
browser = Browser()
try:
    counts = {}
    for name in ("presets", "grid"):
        document = json.loads((FOLDER / f"{name}.json").read_text())
        browser.open(f"{name}.html")
        dots = browser.run("return document.querySelectorAll('#plot circle').length")
        known = [row for row in document["totals"] if row["complete"] and not row["error"]]
        assert dots == len(known), (name, dots, len(known))
        totals = compare(browser, name, "total", document["totals"])
        counts[name] = compare(browser, name, "each", document["rows"])
        if name == "presets":
            browser.open(f"{name}.html")
            keyboard(browser)
        else:
            large(browser, counts[name])
        said = browser.console()
        assert not said, ("the browser's console has messages", said)
        print(f"page: {name}: {totals} totals and {counts[name]} rows are those of the JSON")
finally:
    browser.close()
