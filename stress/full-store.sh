#!/usr/bin/env bash
# Throughput of a gateway on a store of 100,000 webhooks as a ratio to one on an empty store: interleaved rounds on
# loopback, each on a fresh copy; medians. Needs wrk and python3. Stops what it started.
#
#   stress/full-store.sh [--rounds 4] [--seconds 5] [--connections 32]
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=4 seconds=5 connections=32
while [ $# -gt 0 ]; do
    case "$1" in
        --rounds) rounds=$2 ;;
        --seconds) seconds=$2 ;;
        --connections) connections=$2 ;;
        *) echo "unknown flag $1" >&2; exit 2 ;;
    esac
    shift 2
done
command -v wrk >/dev/null || { echo "missing: wrk (apt-get install wrk)" >&2; exit 2; }

[ -n "${SKIP_BUILD:-}" ] || cargo build --release --locked --quiet -p hookbell -p fake-ntfy
work=$(mktemp -d)
pids=()
stop() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait "${pids[@]}" 2>/dev/null || true; pids=(); }
trap 'stop; rm -rf "$work"' EXIT
fake=18090 gateway=18085 admin=19090

mkdir "$work/rules"
cat > "$work/rules/rules.yaml" <<'YAML'
sources:
  x:
    path: /hooks/x
    dedupe: "{{body.n}}"
    rules: [{ name: all, publish: { topic: t, title: "{{body.app}}", message: "{{body.text}}" } }]
YAML
cat > "$work/load.lua" <<'LUA'
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local body = '{"n":"%s","text":"Deployment failed","app":"shop-api","x":"' .. string.rep("y", 350) .. '"}'
local n, thread = 0, tostring({}):sub(8)
function request() n = n + 1; return wrk.format(nil, nil, nil, string.format(body, thread .. n)) end
LUA

serve() { # folder of the store
    target/release/fake-ntfy --port $fake --keep 0 >/dev/null 2>&1 & pids+=($!)
    NTFY_URL=http://127.0.0.1:$fake target/release/hookbell --listen 127.0.0.1:$gateway --admin 127.0.0.1:$admin \
        --rules "$work/rules" --data "$1" --keep-size 1GiB 2>"$work/gateway.log" & pids+=($!)
    for _ in $(seq 100); do curl -fs http://127.0.0.1:$admin/readyz >/dev/null && return; sleep 0.1; done
    echo "the gateway is not ready" >&2; exit 1
}

serve "$work/store"; stop
python3 - "$work/store/hookbell.db" <<'PYTHON'
import sqlite3, sys, time
store = sqlite3.connect(sys.argv[1])
store.execute("""
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100000)
    INSERT INTO webhook (id, received_at, source, size, head, body, verdict)
    SELECT randomblob(16), ? - 10000000 + n * 100, 'x', 600, '["POST",[],[],[["host","x"]]]',
        CAST('{"n":' || n || ',"x":"' || hex(zeroblob(250)) || '"}' AS BLOB), '{"outcome":"published","rules":["all"]}' FROM n
""", [int(time.time() * 1000)])
store.execute("""
    INSERT INTO notification
        (state, due_at, received_at, waiting_since, settled_at, attempts, id, webhook, source, server, topic, rule, payload)
    SELECT 1, 0, received_at, received_at, received_at + 5, 1, randomblob(16), id, 'x', 'default', 't', 'all',
        '{"topic":"t","message":"' || seq || '","x":"' || hex(zeroblob(200)) || '"}' FROM webhook
""")
store.commit()
store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
PYTHON

round() { # name, and the store to start from if any
    rm -rf "$work/data"; mkdir "$work/data"
    # What a copy leaves in the page cache must not be written during the round.
    [ -z "${2:-}" ] || { cp "$2/hookbell.db" "$work/data/"; sync; }
    serve "$work/data"
    wrk -t2 -c"$connections" -d"${seconds}s" -s "$work/load.lua" http://127.0.0.1:$gateway/hooks/x > "$work/out"
    stop
    grep -q 'Non-2xx' "$work/out" && { cat "$work/out" >&2; exit 1; }
    awk '/Requests\/sec/ { print $2 }' "$work/out" | tee -a "$work/$1"
}
median() { sort -n "$work/$1" | awk '{ a[NR] = $1 } END { print (a[int((NR + 1) / 2)] + a[int(NR / 2) + 1]) / 2 }'; }
for number in $(seq "$rounds"); do
    printf 'round %s: empty %s/s, full %s/s\n' "$number" "$(round empty)" "$(round full "$work/store")"
done
printf 'median: empty %s/s, full %s/s, ratio %s\n' "$(median empty)" "$(median full)" \
    "$(awk "BEGIN { printf \"%.2f\", $(median full) / $(median empty) }")"
