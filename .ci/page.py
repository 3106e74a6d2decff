"""Compares the rows that a browser has made of a sweep's page with the JSON in the page."""

import json
import sys
from html.parser import HTMLParser


class Page(HTMLParser):
    """Collects the cells of the table of rows, the points of the plot, and the embedded JSON."""

    def __init__(self):
        super().__init__()
        self.rows, self.cell, self.json, self.dots = [], None, None, 0
        self.in_json = self.in_rows = self.in_body = self.ready = False

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        if tag == "html":
            self.ready = known.get("data-ready") == "yes"
        if tag == "script":
            self.in_json = known.get("id") == "data"
        if tag == "table":
            self.in_rows = known.get("id") == "rows"
        if tag == "circle":
            self.dots += 1
        if tag == "tbody" and self.in_rows:
            self.in_body = True
        if tag == "tr" and self.in_body:
            self.rows.append([])
        if tag == "td" and self.in_body:
            self.cell = ""

    def handle_endtag(self, tag):
        if tag == "script":
            self.in_json = False
        if tag == "tbody":
            self.in_body = False
        if tag == "td" and self.cell is not None:
            self.rows[-1].append(self.cell)
            self.cell = None

    def handle_data(self, data):
        if self.in_json:
            self.json = (self.json or "") + data
        elif self.cell is not None:
            self.cell += data


page = Page()
with open(sys.argv[1], encoding="utf-8") as file:
    page.feed(file.read())
data = json.loads(page.json)
assert page.ready, "the page's script did not come to its end"
shown = data["totals"] or data["rows"]
wanted = sorted(row["texts"] for row in shown)
assert sorted(page.rows) == wanted, (sorted(page.rows)[:2], wanted[:2])
assert page.dots == sum(1 for row in shown if row["x"] is not None), page.dots
print(f"page: {len(page.rows)} rows and {page.dots} points are those of the JSON")
