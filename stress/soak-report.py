#!/usr/bin/env python3
"""Whether what soak.sh has sampled levels off: soak-report.py FOLDER.

Compares the last quarter of the load with the second one, by their medians; the first is for filling up. Ends with 1 when
something has grown by more than a tenth (and more than a little).
"""

import csv
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent / "locust"))
from plot import Line, chart  # noqa: E402

# With what is too little to be growth.
LEVEL = {"rss_mb": 2.0, "anon_mb": 2.0, "files": 8.0, "store_mb": 4.0}
CHARTS = {
    "memory": ("Memory, megabytes", ["rss_mb", "anon_mb"]),
    "files": ("File descriptors", ["files"]),
    "store": ("Store, megabytes", ["store_mb"]),
    "queue": ("Notifications that wait", ["waiting"]),
}


def main(folder: Path) -> int:
    """Writes the charts, prints the table."""
    with (folder / "samples.csv").open(encoding="utf-8") as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    for name, (title, columns) in CHARTS.items():
        lines = [Line(column, [(row["second"], row[column]) for row in rows]) for column in columns]
        (folder / f"{name}.svg").write_text(chart(title, lines), encoding="utf-8")
    load, quarter = rows[:-1], len(rows[:-1]) // 4
    grown = []
    print(f"{'':12}{'2nd quarter':>14}{'last quarter':>14}{'most':>10}{'at the end':>12}")
    for column, little in LEVEL.items():
        early = median(row[column] for row in load[quarter : 2 * quarter])
        late = median(row[column] for row in load[-quarter:])
        print(f"{column:12}{early:14.1f}{late:14.1f}{max(row[column] for row in rows):10.1f}{rows[-1][column]:12.1f}")
        if late > early * 1.1 and late - early > little:
            grown.append(column)
    for column in grown:
        print(f"{column} does not level off", file=sys.stderr)
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
