"""Writes once a second how the gateway is: sampler.py PID ADMIN FAKE OUT, until it is told to stop."""

import csv
import json
import os
import re
import signal
import sys
import threading
import time
import urllib.request
from pathlib import Path

COLUMNS = ["second", "accepted", "delivered", "queue", "inbound", "outbound", "rss_mb", "anon_mb", "files", "cpu_s"]
LABELLED = re.compile(r"^hookbell_(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


def fetch(url: str) -> str:
    """The body of an answer."""
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()


def total(metrics: str, family: str, label: str = "") -> float:
    """The sum over a family's members that carry the label."""
    members = LABELLED.findall(metrics)
    return sum(float(value) for name, labels, value in members if name == family and label in labels)


def memory(pid: int, key: str) -> float:
    """Megabytes of a line in /proc/PID/status."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"^{key}:\s+(\d+) kB", status, re.MULTILINE)
    return round(int(found[1]) / 1024, 2) if found else 0.0


def processor_seconds(pid: int) -> float:
    """Seconds of processor time, user's and system's."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sample(pid: int, admin: str, fake: str) -> list[float]:
    """One row, without its second."""
    metrics = fetch(f"{admin}/metrics")
    return [
        total(metrics, "webhooks_total", 'outcome="Accepted"'),
        total(metrics, "notifications_total", 'state="Delivered"'),
        total(metrics, "queue_depth"),
        total(metrics, "connections"),
        json.loads(fetch(f"{fake}/stats"))["connections_now"] - 1,  # Less the one that asks.
        memory(pid, "VmRSS"),
        memory(pid, "RssAnon"),
        len(os.listdir(f"/proc/{pid}/fd")),
        processor_seconds(pid),
    ]


def main(pid: int, admin: str, fake: str, out: str) -> None:
    """Samples until SIGTERM."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    start = time.monotonic()
    with open(out, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        while True:
            rows.writerow([round(time.monotonic() - start, 1), *sample(pid, admin, fake)])
            file.flush()
            if stop.wait(1):
                return


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:5])
