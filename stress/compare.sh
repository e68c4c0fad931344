#!/usr/bin/env bash
# The gateway (durable, with verification, matching and rendering) against nginx, a plain reverse proxy before the same fake
# ntfy. nginx is measured twice: passing on the finished notification of some 400 bytes, and passing on the webhook as it
# came. Every round measures each case anew, on a store of its own; medians. Needs nginx, curl and python3.
#
#   stress/compare.sh [--rounds 3] [--seconds 6] [--list] [CASE…]     (all cases unless some are named; `seed-*` works)
set -euo pipefail

rounds=3 seconds=6 wanted=() list=
while [ $# -gt 0 ]; do
    case "$1" in
        --rounds) rounds=$2; shift 2 ;;
        --seconds) seconds=$2; shift 2 ;;
        --list) list=1; shift ;;
        -*) echo "unknown flag $1" >&2; exit 2 ;;
        *) wanted+=("$1"); shift ;;
    esac
done

sized='--path /hooks/bench --body-size'
cases() { # name|connections|ms ntfy takes|rules|store|webhooks|how they are sent
    cat <<CASES
seed-32|32|0|stress|empty||
seed-150|150|0|stress|empty||
seed-300|300|0|stress|empty||
seed-1000|1000|0|stress|empty||
seed-32-20ms|32|20|stress|empty||
seed-150-20ms|150|20|stress|empty||
coolify|32|0|shipped|empty|--sample coolify/deployment_failed|
github|32|0|shipped|empty|--sample github/workflow_run_completed_failure|
rules-1|32|0|1|empty|$sized 1000|
rules-1000|32|0|1000|empty|$sized 1000|
body-1k|32|0|1|empty|$sized 1024|
body-30k|32|0|1|empty|$sized 30720|
body-1m|32|0|1|empty|$sized 1048576|
store-empty|32|0|1|empty|$sized 600|
store-100000|32|0|1|full|$sized 600|
open-0ms|64|0|stress|empty||--rate 1000
open-20ms|64|20|stress|empty||--rate 1000
open-1s|64|1000|stress|empty||--rate 1000
open-down|64|down|stress|empty||--rate 1000
idle-1000|1000|0|stress|empty||--idle
CASES
}
chosen() { # name
    [ ${#wanted[@]} -gt 0 ] || return 0
    # shellcheck disable=SC2053 # a pattern is meant
    for pattern in "${wanted[@]}"; do [[ $1 == $pattern ]] && return 0; done
    return 1
}
if [ -n "$list" ]; then cases | cut -d'|' -f1; exit; fi

# shellcheck source=stress/lib.sh
source "$(dirname "$0")/lib.sh"
need nginx
build
for count in 1 1000; do stress/make-rules.py "$work/rules-$count" "$count"; done
rules_of() { case "$1" in stress) echo stress/rules ;; shipped) echo rules ;; *) echo "$work/rules-$1" ;; esac; }

start_fake fake; start_fake sink; start_nginx "$sink_url"
dead=http://127.0.0.1:$(free_port)
if cases | while IFS='|' read -r name _ _ _ store _; do ! chosen "$name" || echo "$store"; done | grep -q full; then
    start_gateway "$dead" "$work/rules-1" "$work/full" --watch off; stop "$gateway_pid"
    stress/fill-store.py "$work/full/hookbell.db" 100000
fi
: > "$out/compare.results" # Kept, should the report fail.

failed=0
bench() { # where the figures go, flags of stress-bench; fails when an answer was wrong
    local file=$1; shift
    rm -f "$file"
    "$bin/stress-bench" --secret "$secret" --seconds "$seconds" --json "$file" "$@" >"$work/table" && return
    cat "$work/table" >&2; return 1
}
result() { # round, case, target, figures, NAME=VALUE…
    [ -s "$4" ] || die "no figures of $2, $3"
    python3 -c 'import json, sys
extra = dict(pair.split("=", 1) for pair in sys.argv[5:])
figures = {"round": sys.argv[1], "case": sys.argv[2], "target": sys.argv[3], **json.load(open(sys.argv[4])), **extra}
print(json.dumps(figures))' "$@" >>"$out/compare.results"
}

against_nginx() { # round, case, target; flags of stress-bench
    local round=$1 name=$2 target=$3; shift 3
    [ "$target" = notification ] && set -- "$@" --notification || set -- "$@" --path /sink
    bench "$work/figures" --url "$nginx_url" --target proxy "$@" || failed=1
    result "$round" "$name" "$target" "$work/figures"
}
against_gateway() { # round, case; flags of stress-bench
    local round=$1 name=$2 ntfy=$fake_url used idle idle_anon left wait=30 after; shift 2
    [ "$latency" = 0 ] || wait=0
    [ "$latency" != down ] || ntfy=$dead
    rm -rf "$work/data"; mkdir "$work/data"
    # What a copy leaves in the page cache must not be written during the round.
    [ "$store" = empty ] || { cp "$work/full/hookbell.db" "$work/data/"; sync; }
    start_gateway "$ntfy" "$(rules_of "$rules")" "$work/data" --keep-size 4GiB --watch off
    curl -fs -X DELETE "$fake_url/messages"; sleep 1
    idle=$(rss "$gateway_pid" VmRSS) idle_anon=$(rss "$gateway_pid" RssAnon) used=$(cpu "$gateway_pid")
    bench "$work/figures" --url "$gateway_url" "$@" & local bench_pid=$!
    sleep "$(awk "BEGIN { print $seconds * 0.8 }")"
    local inbound during; inbound=$(metric connections) during=$(rss "$gateway_pid" VmRSS)
    wait $bench_pid || failed=1; left=$(metric queue_depth)
    drain $wait >"$work/left"
    used=$(awk "BEGIN { print $(cpu "$gateway_pid") - $used }")
    [ "$wait" = 0 ] || [ "$(cat "$work/left")" = 0 ] || echo "$name: $(cat "$work/left") were not delivered within $wait s" >&2
    sleep 2
    result "$round" "$name" gateway "$work/figures" cpu="$used" left="$left" inbound="$inbound" rss_idle="$idle" \
        anon_idle="$idle_anon" rss_during="$during" rss_after="$(rss "$gateway_pid" VmRSS)" anon_after="$(rss "$gateway_pid" RssAnon)" \
        rss_peak="$(rss "$gateway_pid" VmHWM)" enqueued="$(metric notifications_total Enqueued)" \
        outbound_peak="$(stat_of "$fake_url" connections_peak)" outbound_total="$(stat_of "$fake_url" connections_total)" \
        no_port="$(grep -c 'Cannot assign requested address' "$work/gateway.log" || true)"
    stop "$gateway_pid"; : > "$work/gateway.log"
}

measure() { # round, a line of cases
    local name connections latency rules store webhooks how
    IFS='|' read -r name connections latency rules store webhooks how <<<"$2"
    chosen "$name" || return 0
    local flags=(--connections "$connections") targets=(gateway notification same-bytes) order=$1 target
    # shellcheck disable=SC2206 # words are meant
    flags+=($webhooks $how)
    [ "$latency" = down ] || behaviour "$fake_url" "{\"latency_ms\":$latency}"
    # nginx passes the wait for ntfy on: where only our latency counts, it is compared at 0 ms.
    local proxied=$latency; [[ $name != open-* ]] || proxied=0
    behaviour "$sink_url" "{\"latency_ms\":$proxied}"
    for ((i = 0; i < 3; i++)); do
        target=${targets[$(((i + order) % 3))]}
        case "$target" in
            gateway) against_gateway "$1" "$name" "${flags[@]}" ;;
            notification) against_nginx "$1" "$name" "$target" --connections "$connections" ${how:+$how} ;;
            same-bytes) against_nginx "$1" "$name" "$target" "${flags[@]}" ;;
        esac
    done
    echo "round $1: $name" >&2
}
for round in $(seq "$rounds"); do
    while read -r line; do measure "$round" "$line"; done < <(cases)
done
[ -s "$out/compare.results" ] || die "no case has that name; see --list"
stress/compare-report.py "$out/compare.results" "$out/compare" || failed=1
exit $failed
