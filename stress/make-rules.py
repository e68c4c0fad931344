#!/usr/bin/env python3
"""Writes a folder of rules of which the last is the one that matches `{"app": "shop-api", "n": …}` at /hooks/bench.

  make-rules.py FOLDER COUNT [jsonpath|header|regex|sources]

jsonpath, header: one source, each rule asks for another text of the same field or header. regex: each rule has a regular
expression of its own, which no index can skip. sources: each rule has a source of its own, and the last is asked.
"""

import sys
from pathlib import Path

SOURCE = "  {name}:\n    path: /hooks/{name}\n    dedupe: '{{{{body.n}}}}'\n    rules:\n"
RULE = """      - name: rule {number}
        when: {{ {when} }}
        publish: {{ topic: bench, title: "{{{{body.app}}}}", message: "{{{{body.text}}}}" }}
"""
WHEN = {
    "jsonpath": "$.app: {app}",
    "header": "headers.x-app: {app}",
    "regex": "$.app: {{ matches: '^{app}$' }}",
    "sources": "$.app: shop-api",
}


def source(name: str, apps: list[str], shape: str) -> str:
    """A source with a rule for each of these apps."""
    rules = (RULE.format(number=number, when=WHEN[shape].format(app=app)) for number, app in enumerate(apps))
    return SOURCE.format(name=name) + "".join(rules)


def document(count: int, shape: str) -> str:
    """All rules as one document."""
    apps = [f"app-{number}" for number in range(count - 1)] + ["shop-api"]
    if shape != "sources":
        return "sources:\n" + source("bench", apps, shape)
    return "sources:\n" + "".join(source("bench" if app == "shop-api" else app, [app], shape) for app in apps)


if __name__ == "__main__":
    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rules.yaml").write_text(document(number, sys.argv[3] if len(sys.argv) > 3 else "jsonpath"))
