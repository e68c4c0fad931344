#!/usr/bin/env python3
"""Medians and ratios of what compare.sh has measured: a table on stdout and in OUT.md, all figures in OUT.json.

  compare-report.py RESULTS OUT

Ends with 1 when a webhook was answered wrongly, something was lost, or local ports ran out.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

TARGETS = ["gateway", "notification", "same-bytes"]
HEAD = [
    "case", "gateway /s", "nginx, notification /s", "ratio", "nginx, same bytes /s", "ratio", "p99 ms: gateway", "nginx n.",
    "nginx s. b.", "CPU s / 1,000", "left", "RSS (anon) MB idle", "peak", "after", "in", "out",
]  # fmt: skip

Rounds = list[dict]


def middle(rounds: Rounds, field: str) -> float:
    """The median of a field over the rounds."""
    return median(float(figures[field]) for figures in rounds)


def p99(rounds: Rounds) -> float:
    """The median p99 in milliseconds."""
    return median(figures["latency_us"]["p99"] for figures in rounds) / 1000


def ratio(ours: Rounds, theirs: Rounds) -> float:
    """The median of the ratios of each round."""
    return median(a["rate"] / b["rate"] for a, b in zip(ours, theirs, strict=True))


def summary(of: dict[str, Rounds]) -> dict:
    """The medians of one case."""
    gateway, *proxied = (of[target] for target in TARGETS)
    fields = ["rate", "left", "rss_idle", "anon_idle", "rss_during", "rss_peak", "rss_after", "anon_after", "inbound", "outbound_peak",
              "outbound_total", "generator_cpu"]  # fmt: skip
    return {field: middle(gateway, field) for field in fields} | {
        "cpu_per_1000": median(1000 * float(f["cpu"]) / f["answers"] for f in gateway),
        "nginx_rate": [middle(rounds, "rate") for rounds in proxied],
        "nginx_generator_cpu": [middle(rounds, "generator_cpu") for rounds in proxied],
        "ratio": [ratio(gateway, rounds) for rounds in proxied],
        "p99_ms": [p99(rounds) for rounds in (gateway, *proxied)],
    }


def row(name: str, s: dict) -> list[str]:
    """A line of the table. Without a load that depends on the answers a ratio of rates means nothing."""
    fixed = name.startswith(("open-", "idle-"))
    ratios = ["" if fixed else f"{value:.2f}" for value in s["ratio"]]
    return [
        name, f"{s['rate']:,.0f}", f"{s['nginx_rate'][0]:,.0f}", ratios[0], f"{s['nginx_rate'][1]:,.0f}", ratios[1],
        *(f"{value:.1f}" for value in s["p99_ms"]), "" if name.startswith("idle-") else f"{s['cpu_per_1000']:.2f}",
        f"{s['left']:,.0f}", f"{s['rss_idle']:.0f} ({s['anon_idle']:.0f})", f"{s['rss_peak']:.0f}",
        f"{s['rss_after']:.0f} ({s['anon_after']:.0f})", f"{s['inbound']:.0f}", f"{s['outbound_peak']:.0f}",
    ]  # fmt: skip


def table(rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [HEAD, ["---"] + ["---:"] * (len(HEAD) - 1), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def pairs(cases: dict[str, dict[str, Rounds]]) -> str:
    """What more rules and a full store cost, by the gateway alone."""
    lines = []
    for base, other in [("rules-1", "rules-1000"), ("store-empty", "store-100000")]:
        if base in cases and other in cases:
            share = ratio(cases[other]["gateway"], cases[base]["gateway"])
            lines.append(f"\n{other} / {base}, gateway alone: {share:.2f}\n")
    return "".join(lines)


def troubles(results: Rounds) -> list[str]:
    """What must not be."""
    found = []
    for figures in results:
        where = f"{figures['case']}, {figures['target']}, round {figures['round']}"
        if figures["wrong"] or figures["errors"] or figures["cannot_assign_requested_address"]:
            found.append(f"{where}: {figures['wrong']} wrong answers, errors {figures['errors']}, "
                         f"{figures['cannot_assign_requested_address']} without a port")  # fmt: skip
        if int(figures.get("no_port", 0)):
            found.append(f"{where}: the gateway found no port {figures['no_port']} times")
        if figures["generator_cpu"] > 0.95:
            print(f"{where}: the load generator was at its limit", file=sys.stderr)
    return found


def main() -> int:
    """Reads, prints and writes; whether all was well."""
    results = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
    cases: dict[str, dict[str, Rounds]] = defaultdict(lambda: defaultdict(list))
    for figures in results:
        cases[figures["case"]][figures["target"]].append(figures)
    medians = {name: summary(of) for name, of in cases.items()}
    text = table([row(name, s) for name, s in medians.items()]) + pairs(cases)
    print(text)
    out = Path(sys.argv[2])
    out.with_suffix(".md").write_text(text)
    out.with_suffix(".json").write_text(json.dumps({"medians": medians, "rounds": results}, indent=1))
    wrong = troubles(results)
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
