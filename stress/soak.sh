#!/usr/bin/env bash
# Twenty minutes of the seed's mix at a fixed rate, while ntfy fails, dawdles, closes connections and is down in turn. Records
# are kept for a short time, so that memory, file descriptors and the store must level off; everything stored must arrive.
# A table goes to stdout, plots and samples.csv to target/stress/soak. Needs curl and python3.
#
#   stress/soak.sh [--minutes 20] [--rate 150] [--keep 3m]
set -euo pipefail

minutes=20 rate=150 keep=3m
while [ $# -gt 0 ]; do
    case "$1" in
        --minutes) minutes=$2; shift 2 ;;
        --rate) rate=$2; shift 2 ;;
        --keep) keep=$2; shift 2 ;;
        *) echo "unknown flag $1" >&2; exit 2 ;;
    esac
done

# shellcheck source=stress/lib.sh
source "$(dirname "$0")/lib.sh"
build
rm -rf "$out/soak"; mkdir -p "$out/soak"
start_fake fake
# Keys against repeats are remembered for their window: as long as records, else an hour of it would look like growth.
mkdir "$work/soak-rules"; sed -E "s/window: [0-9]+[a-z]+/window: $keep/" stress/rules/stress.yaml >"$work/soak-rules/stress.yaml"
start_gateway "$fake_url" "$work/soak-rules" "$work/data" --keep "$keep" --watch off

echo "second,rss_mb,anon_mb,files,store_mb,waiting,delivered" >"$out/soak/samples.csv"
start=$SECONDS
sample() {
    echo "$((SECONDS - start)),$(rss "$gateway_pid" VmRSS),$(rss "$gateway_pid" RssAnon),$(find "/proc/$gateway_pid/fd" -mindepth 1 |
        wc -l),$(du -sk "$work/data" | awk '{ printf "%.1f", $1 / 1024 }'),$(metric queue_depth),$(metric notifications_total Delivered)" \
        >>"$out/soak/samples.csv"
}
"$bin/stress-bench" --secret "$secret" --url "$gateway_url" --rate "$rate" --seconds $((minutes * 60)) --connections 64 \
    --json "$out/soak/answers.json" >"$work/table" 2>&1 & bench_pid=$!; pids+=($!)

# One after the other, a few seconds each, and well in between.
moods=('{"failure_rate":0.2,"failure_status":500,"failure_code":50001}' '{"latency_ms":400}' '{"close":true}' '{"status":[503,50301]}'
    '{"hang":true}')
mood=0
while kill -0 "$bench_pid" 2>/dev/null; do
    behaviour "$fake_url" '{}'; for _ in 1 2 3 4; do sleep 5; sample; done
    behaviour "$fake_url" "${moods[mood++ % ${#moods[@]}]}"; sleep 5; sample
done
answers=right; wait "$bench_pid" || answers=wrong
behaviour "$fake_url" '{}'
left=$(drain 240); sleep 30; sample

cat "$work/table"
stored=$(metric notifications_total Enqueued) delivered=$(metric notifications_total Delivered) received=$(stat_of "$fake_url" accepted)
echo "$stored notifications stored, $delivered delivered, $received received, $left left; $(metric notifications_total Retried) attempts failed"
stress/soak-report.py "$out/soak"
[ "$answers" = right ] || die "wrong answers or none"
[ "$left" = 0 ] || die "$left notifications still wait though ntfy is well"
[ "$stored" -gt 0 ] && [ "$delivered" = "$stored" ] && [ "$received" -ge "$stored" ] || die "lost: $stored stored, $delivered delivered"
