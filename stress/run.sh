#!/usr/bin/env bash
# The seed's experiment: Locust's users send the mix of Coolify and GitHub to a gateway before a fake ntfy, which may misbehave
# while they do and is well afterwards. Then all that was stored must arrive. Prints a table; plots and a page go to
# target/stress. Needs curl and python3 (3.11 or newer).
#
#   stress/run.sh [--users 150] [--spawn-rate 50] [--duration 60] [flags of fake-ntfy, such as --latency-ms 20,
#                 --failure-rate 0.1, --hang, --close, --status 503]
set -euo pipefail

users=150 spawn_rate=50 duration=60 misbehaviour=()
while [ $# -gt 0 ]; do
    case "$1" in
        --users) users=$2; shift 2 ;;
        --spawn-rate) spawn_rate=$2; shift 2 ;;
        --duration) duration=${2%s}; shift 2 ;;
        *) misbehaviour+=("$1"); shift ;;
    esac
done

# shellcheck source=stress/lib.sh
source "$(dirname "$0")/lib.sh"
rm -f "$out"/*.svg "$out"/report.html "$out"/samples.csv "$out"/locust*
build

# uv, from the machine or into a folder of our own; then free-threaded Python where it can be had.
uv=$(command -v uv || true)
if [ -z "$uv" ]; then
    [ -x target/uv/bin/uv ] || { python3 -m venv target/uv; target/uv/bin/pip install --quiet --disable-pip-version-check uv; }
    uv=target/uv/bin/uv
fi
python=$PWD/target/locust/bin
prepare() { UV_PROJECT_ENVIRONMENT=$PWD/target/locust UV_PYTHON=$1 timeout 300 "$uv" sync --quiet --locked --project stress/locust; }
# Not every part of Locust is ready for it: where it cannot be installed and started there, the system's Python serves.
free_threaded() { timeout 30 "$uv" python install --quiet 3.14t && prepare 3.14t && "$python/locust" --version; }
free_threaded >/dev/null 2>&1 || prepare "$(command -v python3)"
echo "python: $("$python/python" -VV)"

start_fake fake "${misbehaviour[@]}"
start_gateway "$fake_url" stress/rules "$work/data"
"$python/python" stress/locust/sampler.py "$gateway_pid" "$admin_url" "$fake_url" "$out/samples.csv" & sampler_pid=$!; pids+=($!)

echo "$users users for $duration s; ntfy: ${misbehaviour[*]:-well}"
(cd stress/locust && STRESS_SECRET=$secret exec "$python/locust" -f locustfile.py --headless --users "$users" --spawn-rate "$spawn_rate" \
    --run-time "${duration}s" --stop-timeout 10 --host "$gateway_url" --csv "$out/locust" --csv-full-history --only-summary \
    --loglevel WARNING) >"$out/locust.log" 2>&1 & locust_pid=$!; pids+=($!)
while kill -0 "$locust_pid" 2>/dev/null; do
    sleep 5; echo "  $(metric webhooks_total Accepted) accepted, $(metric queue_depth) wait, RSS $(rss "$gateway_pid" VmRSS) MB"
done
answers=right; wait "$locust_pid" || answers=wrong

behaviour "$fake_url" '{}'
echo "ntfy is well; $(metric queue_depth) wait"
left=$(drain 240)
sleep 2; stop "$sampler_pid"
"$python/python" stress/locust/report.py "$out" "$users users for $duration s; ntfy: ${misbehaviour[*]:-well}"

stored=$(metric notifications_total Enqueued) delivered=$(metric notifications_total Delivered) received=$(stat_of "$fake_url" accepted)
no_port=$(grep -c 'Cannot assign requested address' "$work/gateway.log" || true)
# Less the one that asks.
outbound=$(($(stat_of "$fake_url" connections_peak) - 1))
echo "$stored notifications stored, $delivered delivered, $received received, $left left; at most" \
    "$outbound connections to ntfy at once; RSS $(rss "$gateway_pid" VmRSS) MB"
echo "report: target/stress/report.html"
[ "$answers" = right ] || die "wrong answers or none, see target/stress/locust.log"
[ "$stored" -gt 0 ] || die "nothing was stored"
[ "$no_port" = 0 ] || die "no local port was left, $no_port times"
[ "$left" = 0 ] || die "$left notifications still wait though ntfy is well"
# ntfy may have received more: what it took but did not answer for is sent again.
[ "$delivered" = "$stored" ] && [ "$received" -ge "$stored" ] || die "lost: $stored stored, $delivered delivered, $received received"
