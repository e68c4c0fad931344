#!/usr/bin/env python3
"""A table and a plot of what growth.sh has measured: growth-report.py RESULTS OUT.

Ends with 1 when the most rules cost more than twice what one costs, in a series that an index finds.
"""

import csv
import sys
from collections import defaultdict
from math import log10
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent / "locust"))
from plot import Line, chart  # noqa: E402

NAMES = {"jsonpath": "$.app", "header": "headers.x-app", "sources": "a source each", "regex": "a regex each"}
INDEXED = ["jsonpath", "header", "sources"]

Costs = dict[str, dict[int, float]]


def costs(path: Path) -> Costs:
    """Microseconds of processor time per webhook, the median of the rounds, by series and number of rules."""
    rounds = defaultdict(lambda: defaultdict(list))
    with path.open(encoding="utf-8") as file:
        for _, shape, count, before, after, answers, _ in csv.reader(file):
            rounds[shape][int(count)].append(1e6 * (float(after) - float(before)) / int(answers))
    return {shape: {count: median(each) for count, each in by.items()} for shape, by in rounds.items()}


def table(measured: Costs) -> str:
    """Microseconds by number of rules."""
    counts = sorted({count for by in measured.values() for count in by})
    head = ["rules", *(NAMES[shape] for shape in measured)]
    rows = [
        [f"{count:,}", *(f"{by[count]:.0f}" if count in by else "" for by in measured.values())] for count in counts
    ]
    rows.append(["most to one", *(f"{by[max(by)] / by[1]:.2f}" for by in measured.values())])
    lines = [head, ["---", *["---:"] * len(measured)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(results: Path, out: Path) -> int:
    """Writes both, prints the table."""
    measured = costs(results)
    text = table(measured)
    out.with_suffix(".md").write_text(text + "\n", encoding="utf-8")
    lines = [Line(NAMES[shape], [(log10(count), cost) for count, cost in by.items()]) for shape, by in measured.items()]
    ticks = [(float(power), f"{10**power:,}") for power in range(5)]
    svg = chart("Microseconds of processor time per webhook, by number of rules", lines, ticks)
    out.with_suffix(".svg").write_text(svg, encoding="utf-8")
    print(text)
    dear = [NAMES[shape] for shape in INDEXED if (by := measured[shape])[max(by)] > 2 * by[1]]
    for name in dear:
        print(f"{name}: the most rules cost more than twice what one costs", file=sys.stderr)
    return 1 if dear else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
