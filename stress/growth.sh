#!/usr/bin/env bash
# What more rules cost: processor time per webhook, delivery included, with 1 to 10,000 rules of which the last one matches.
# Rounds are interleaved; medians. A table goes to stdout and target/stress/growth.md, a plot to growth.svg beside it.
# Ends with 1 when 10,000 rules cost more than twice what one costs, where an index can find them. Needs curl and python3.
#
#   stress/growth.sh [--rounds 3] [--seconds 4] [--rate 2000]
set -euo pipefail

rounds=3 seconds=4 rate=2000
while [ $# -gt 0 ]; do
    case "$1" in
        --rounds) rounds=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        --rate) rate=$2; shift 2 ;;
        *) echo "unknown flag $1" >&2; exit 2 ;;
    esac
done

# shellcheck source=stress/lib.sh
source "$(dirname "$0")/lib.sh"
build
start_fake fake
counts=(1 10 100 1000 10000)
# regex is what no index can skip; more than 1,000 of them are nobody's rules.
series() { case "$1" in regex) echo 1 10 100 1000 ;; *) echo "${counts[@]}" ;; esac; }
shapes=(jsonpath header sources regex)
for shape in "${shapes[@]}"; do
    for count in $(series "$shape"); do stress/make-rules.py "$work/$shape-$count" "$count" "$shape"; done
done

: >"$work/results.csv"
measure() { # round, shape, count
    rm -rf "$work/data"
    start_gateway "$fake_url" "$work/$2-$3" "$work/data" --watch off --keep-size 4GiB
    local used; used=$(cpu "$gateway_pid")
    "$bin/stress-bench" --url "$gateway_url" --path /hooks/bench --body-size 600 --header "X-App: shop-api" --rate "$rate" \
        --seconds "$seconds" --connections 32 --json "$work/figures" >"$work/table" || { cat "$work/table" >&2; exit 1; }
    [ "$(drain 30)" = 0 ] || die "not everything was delivered: $2, $3 rules"
    echo "$1,$2,$3,$used,$(cpu "$gateway_pid"),$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["answers"])' \
        "$work/figures"),$(rss "$gateway_pid" VmRSS)" >>"$work/results.csv"
    stop "$gateway_pid"
}
for round in $(seq "$rounds"); do
    for count in "${counts[@]}"; do
        for shape in "${shapes[@]}"; do
            [[ " $(series "$shape") " != *" $count "* ]] || measure "$round" "$shape" "$count"
        done
    done
    echo "round $round of $rounds" >&2
done
stress/growth-report.py "$work/results.csv" "$out/growth"
