"""A page about a run: report.py FOLDER TITLE, from samples.csv and what Locust wrote."""

import csv
import sys
from html import escape
from pathlib import Path

from plot import Line, chart

Row = dict[str, str]
STYLE = "body{font:15px system-ui;max-width:46rem;margin:2rem auto}td,th{padding:.2rem .7rem;text-align:right}td:first-child,th:first-child{text-align:left}svg{max-width:100%}"
COLUMNS = ["Name", "Request Count", "Failure Count", "Requests/s", "50%", "95%", "99%", "Max Response Time"]


def rows(path: Path) -> list[Row]:
    """The rows of a CSV file, by column."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def line(name: str, samples: list[Row], column: str) -> Line:
    """A column over time."""
    return Line(name, [(float(row["second"]), float(row[column])) for row in samples])


def rate(name: str, samples: list[Row], column: str) -> Line:
    """How fast a counter rises."""
    points = []
    for before, after in zip(samples, samples[1:]):
        seconds = float(after["second"]) - float(before["second"])
        points.append((float(after["second"]), (float(after[column]) - float(before[column])) / seconds))
    return Line(name, points)


def latencies(history: list[Row]) -> list[Line]:
    """Percentiles of the answers, as Locust saw them."""
    total = [row for row in history if row["Name"] == "Aggregated" and row["50%"] != "N/A"]
    start = float(total[0]["Timestamp"]) if total else 0.0
    return [
        Line(column, [(float(row["Timestamp"]) - start, float(row[column])) for row in total])
        for column in ("50%", "95%", "99%")
    ]


def charts(folder: Path) -> dict[str, str]:
    """Every chart by the name of its file."""
    samples, history = rows(folder / "samples.csv"), rows(folder / "locust_stats_history.csv")
    both = [rate("accepted", samples, "accepted"), rate("delivered", samples, "delivered")]
    outside = [line("from senders", samples, "inbound"), line("to ntfy", samples, "outbound")]
    memory = [line("RSS", samples, "rss_mb"), line("anonymous", samples, "anon_mb")]
    return {
        "throughput": chart("Webhooks and notifications a second", both),
        "latency": chart("Time of an answer, milliseconds", latencies(history)),
        "connections": chart("Open connections", outside),
        "queue": chart("Notifications that wait", [line("waiting", samples, "queue")]),
        "memory": chart("Memory, megabytes", memory),
    }


def table(stats: list[Row]) -> str:
    """What Locust counted, as HTML."""
    head = "".join(f"<th>{escape(column)}</th>" for column in COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(short(row[column]))}</td>" for column in COLUMNS) + "</tr>" for row in stats
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def short(value: str) -> str:
    """A number without a tail of digits."""
    return value if value.isdigit() or not value.replace(".", "").isdigit() else f"{float(value):.1f}"


def main(folder: Path, title: str) -> None:
    """Writes the charts, the page, and prints the table."""
    drawn = charts(folder)
    for name, svg in drawn.items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    stats = rows(folder / "locust_stats.csv")
    page = f"<!doctype html><meta charset=utf-8><title>Stress</title><style>{STYLE}</style><h1>Stress</h1><p>{escape(title)}</p>"
    (folder / "report.html").write_text(page + table(stats) + "".join(drawn.values()), encoding="utf-8")
    for row in [dict(zip(COLUMNS, COLUMNS)), *stats]:
        print(f"{row['Name']:28}" + "".join(f"{short(row[column]):>18}" for column in COLUMNS[1:]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
