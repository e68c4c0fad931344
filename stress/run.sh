#!/usr/bin/env bash
# The seed's experiment: Locust's users send the mix of Coolify and GitHub to a gateway before a fake ntfy. Prints a table and
# writes plots and a page to target/stress. Loopback only; stops what it started. Needs python3 (3.11 or newer) and curl.
#
#   stress/run.sh [--users 150] [--spawn-rate 50] [--duration 60] [flags of fake-ntfy, such as --latency-ms 20,
#                 --failure-rate 0.1, --hang, --close, --status 503]
set -euo pipefail
cd "$(dirname "$0")/.."

users=150 spawn_rate=50 duration=60 misbehaviour=()
while [ $# -gt 0 ]; do
    case "$1" in
        --users) users=$2; shift 2 ;;
        --spawn-rate) spawn_rate=$2; shift 2 ;;
        --duration) duration=${2%s}; shift 2 ;;
        *) misbehaviour+=("$1"); shift ;;
    esac
done

python=$PWD/target/locust/bin
out=$PWD/target/stress
rm -rf "$out/data"; mkdir -p "$out"
[ -n "${SKIP_BUILD:-}" ] || { echo "building"; cargo build --release --locked --quiet -p hookbell -p fake-ntfy; }

# uv, from the machine or into a folder of our own; then free-threaded Python where it can be had.
uv=$(command -v uv || true)
if [ -z "$uv" ]; then
    [ -x target/uv/bin/uv ] || { python3 -m venv target/uv; target/uv/bin/pip install --quiet --disable-pip-version-check uv; }
    uv=target/uv/bin/uv
fi
# Locust's greenlets are not ready for every free-threaded Python: where it cannot start there, the system's serves.
prepare() { UV_PROJECT_ENVIRONMENT=$PWD/target/locust UV_PYTHON=$1 timeout 300 "$uv" sync --quiet --locked --project stress/locust; }
usable() { timeout 30 "$uv" python install --quiet 3.14t 2>/dev/null && prepare 3.14t 2>/dev/null && target/locust/bin/locust --version >/dev/null 2>&1; }
usable || prepare "$(command -v python3)"
echo "python: $(target/locust/bin/python -VV)"

pids=()
stop() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait 2>/dev/null || true; }
trap stop EXIT
trap 'exit 130' INT TERM
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
ready() { for _ in $(seq 100); do curl -fs "$1" >/dev/null && return; sleep 0.1; done; echo "not ready: $1, see $out" >&2; exit 1; }

fake=http://127.0.0.1:$(free_port) admin=http://127.0.0.1:$(free_port) gateway=http://127.0.0.1:$(free_port)
export STRESS_SECRET=stress-secret-of-32-characters!!
target/release/fake-ntfy --port "${fake##*:}" --keep 0 "${misbehaviour[@]}" >"$out/fake.log" 2>&1 & pids+=($!)
NTFY_URL=$fake target/release/hookbell --listen "${gateway#http://}" --admin "${admin#http://}" --rules stress/rules \
    --data "$out/data" >"$out/gateway.log" 2>&1 & pids+=($!); pid=$!
ready "$fake/stats"; ready "$admin/readyz"

target/locust/bin/python stress/locust/sampler.py "$pid" "$admin" "$fake" "$out/samples.csv" & sampler=$!; pids+=("$sampler")
ulimit -n "$(ulimit -Hn)"
echo "$users users for $duration s${misbehaviour:+, ntfy with ${misbehaviour[*]}}"
failed=0
(cd stress/locust && "$python/locust" -f locustfile.py --headless --users "$users" --spawn-rate "$spawn_rate" \
    --run-time "${duration}s" --stop-timeout 10 --host "$gateway" --csv "$out/locust" --csv-full-history --only-summary \
    --loglevel WARNING) >"$out/locust.log" 2>&1 || failed=$?

metric() { curl -fs "$admin/metrics" | awk -v name="hookbell_$1" 'index($1, name) == 1 && (! "'"${2:-}"'" || index($1, "'"${2:-}"'")) { n += $2 } END { print n + 0 }'; }
echo "waiting for what is left: $(metric queue_depth)"
for _ in $(seq 240); do [ "$(metric queue_depth)" = 0 ] && break; sleep 0.5; done
sleep 2; kill "$sampler"; wait "$sampler" || true
target/locust/bin/python stress/locust/report.py "$out" "$users users for $duration s; ntfy: ${misbehaviour[*]:-well}"

enqueued=$(metric notifications_total Enqueued) delivered=$(metric notifications_total Delivered) waiting=$(metric queue_depth)
exhausted=$(grep -c 'Cannot assign requested address' "$out/gateway.log" || true)
printf '%s notifications stored, %s delivered, %s left; at most %s connections to ntfy; %s\n' "$enqueued" "$delivered" "$waiting" \
    "$(awk -F, 'NR > 1 && $6 > m { m = $6 } END { print m + 0 }' "$out/samples.csv")" \
    "$(awk '/^VmRSS/ { printf "RSS %.1f MB", $2 / 1024 }' "/proc/$pid/status")"
echo "report: target/stress/report.html"
[ "$failed" = 0 ] || { echo "locust: wrong answers or none, see target/stress/locust.log" >&2; exit 1; }
[ "$enqueued" -gt 0 ] || { echo "nothing was accepted" >&2; exit 1; }
[ "$exhausted" = 0 ] || { echo "$exhausted times no local port was left, see target/stress/gateway.log" >&2; exit 1; }
# What waits for a ntfy that misbehaves to the end is not lost; what is neither delivered nor waiting is.
[ "$((delivered + waiting))" -ge "$enqueued" ] || { echo "lost: $((enqueued - delivered - waiting))" >&2; exit 1; }
