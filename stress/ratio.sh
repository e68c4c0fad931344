#!/usr/bin/env bash
# Throughput of the gateway as a ratio to nginx, a plain reverse proxy before the same fake ntfy.
# Interleaved rounds on loopback; medians. Needs nginx and wrk (Debian packages). Stops what it started.
#
#   stress/ratio.sh [--rounds 3] [--seconds 8] [--connections 32] [--latency-ms 0] [--sample github/workflow_run_completed_failure.json]
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=3 seconds=8 connections=32 latency=0 sample=github/workflow_run_completed_failure.json
while [ $# -gt 0 ]; do
    case "$1" in
        --rounds) rounds=$2 ;;
        --seconds) seconds=$2 ;;
        --connections) connections=$2 ;;
        --latency-ms) latency=$2 ;;
        --sample) sample=$2 ;;
        *) echo "unknown flag $1" >&2; exit 2 ;;
    esac
    shift 2
done
for tool in nginx wrk openssl; do
    command -v "$tool" >/dev/null || { echo "missing: $tool (apt-get install nginx-light wrk openssl)" >&2; exit 2; }
done

[ -n "${SKIP_BUILD:-}" ] || cargo build --release --locked --quiet -p hookbell -p fake-ntfy
work=$(mktemp -d)
pids=()
stop() { for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$work"; }
trap stop EXIT

secret=stress-secret fake=18090 gateway=18085 admin=19090 proxy=18080
target/release/fake-ntfy --port $fake --latency-ms "$latency" --keep 0 >"$work/fake.log" 2>&1 & pids+=($!)

cat > "$work/nginx.conf" <<CONF
worker_processes 2; pid $work/nginx.pid; error_log $work/nginx.err warn; daemon off;
events { worker_connections 4096; }
http {
    access_log off; client_body_temp_path $work/body; proxy_temp_path $work/proxy;
    fastcgi_temp_path $work/f; uwsgi_temp_path $work/u; scgi_temp_path $work/s;
    upstream fake { server 127.0.0.1:$fake; keepalive 64; }
    server {
        listen 127.0.0.1:$proxy;
        location / { proxy_pass http://fake; proxy_http_version 1.1; proxy_set_header Connection ""; }
    }
}
CONF
nginx -c "$work/nginx.conf" -p "$work" & pids+=($!)

NTFY_URL=http://127.0.0.1:$fake GITHUB_WEBHOOK_SECRET=$secret COOLIFY_WEBHOOK_SECRET=$secret \
    target/release/hookbell --listen 127.0.0.1:$gateway --admin 127.0.0.1:$admin --rules rules --data "$work/data" \
    2>"$work/gateway.log" & gateway_pid=$!; pids+=($gateway_pid)

ready() { for _ in $(seq 100); do curl -fs "$1" >/dev/null && return; sleep 0.1; done; echo "not ready: $1" >&2; exit 1; }
ready http://127.0.0.1:$fake/v1/health; ready http://127.0.0.1:$admin/readyz; ready http://127.0.0.1:$proxy/v1/health

# wrk sends one fixed request: the sample as its sender would, and the notification that it becomes.
body=rules/samples/$sample
signature=$(openssl dgst -sha256 -hmac $secret -r "$body" | cut -d' ' -f1)
lua_string() { python3 -c 'import sys; print("".join("\\%03d" % b for b in open(sys.argv[1], "rb").read()))' "$1"; }
{
    echo 'wrk.method = "POST"'
    echo "wrk.body = \"$(lua_string "$body")\""
    while IFS=: read -r name value; do
        case "$name" in ''|X-Hub-*) ;; *) echo "wrk.headers[\"$name\"] = \"${value# }\"" ;; esac
    done < "${body%.*}.headers"
    echo "wrk.headers[\"X-Hub-Signature-256\"] = \"sha256=$signature\""
    # Each one is a webhook of its own: a repeat would not be sent.
    echo 'local n, thread = 0, tostring({}):sub(8)'
    case "$sample" in
        github/*) echo 'local function own() wrk.headers["X-GitHub-Delivery"] = thread .. n; return wrk.body end' ;;
        *) echo 'local front, back = wrk.body:match([[^(.*"deployment_uuid": ")(.*)$]])'
           echo 'local function own() return front .. thread .. n .. back end' ;;
    esac
    echo 'function request() n = n + 1; return wrk.format(nil, nil, nil, own()) end'
} > "$work/gateway.lua"
cat > "$work/proxy.lua" <<'LUA'
wrk.method = "POST"
wrk.body = [[{"topic":"github","title":"octo-org/octo-repo","message":"ci(action): update actions/setup-node digest to 8c91899 — failure\nBranch: master","priority":5,"tags":["x"],"click":"https://github.com/octo-org/octo-repo/actions/runs/289782451","actions":[{"action":"view","label":"Open run","url":"https://github.com/octo-org/octo-repo/actions/runs/289782451"}],"sequence_id":"0194f5d2c6d87f0f8f0e4a2e6b1d9c3a"}]]
wrk.headers["Content-Type"] = "application/json"
LUA
case "$sample" in github/*) path=/hooks/github ;; *) path=/hooks/coolify/$secret ;; esac

rss() { awk '/^(VmRSS|RssAnon)/ { printf "%s %.1f MB  ", $1, $2 / 1024 }' "/proc/$gateway_pid/status"; }
load() { # name url lua -> requests per second
    wrk -t2 -c"$connections" -d"${seconds}s" --latency -s "$3" "$2" > "$work/$1.out"
    grep -q 'Non-2xx' "$work/$1.out" && { echo "$1 refused requests:" >&2; cat "$work/$1.out" >&2; exit 1; }
    awk '/Requests\/sec/ { print $2 }' "$work/$1.out"
}
waiting() { curl -fs http://127.0.0.1:$admin/metrics | awk '$1 == "hookbell_queue_depth" { print $2 }'; }
# What the gateway has accepted it also delivers: the round ends when nothing waits any more.
drain() { local start; start=$(date +%s); while [ "$(waiting)" != 0 ]; do sleep 0.2; [ $(($(date +%s) - start)) -lt 600 ] || exit 1; done; }

printf 'sample %s (%s bytes), %s connections, ntfy at %s ms\n' "$sample" "$(wc -c < "$body")" "$connections" "$latency"
printf 'idle: %s\n' "$(rss)"
for round in $(seq "$rounds"); do
    nginx_rate=$(load nginx http://127.0.0.1:$proxy/ "$work/proxy.lua")
    gateway_rate=$(load gateway http://127.0.0.1:$gateway$path "$work/gateway.lua")
    behind=$(waiting); before=$(date +%s.%N); drain
    ratio=$(awk "BEGIN { printf \"%.2f\", $gateway_rate / $nginx_rate }")
    echo "$ratio" >> "$work/ratios"
    printf 'round %s: nginx %s/s, gateway %s/s accepted, ratio %s; %s left to deliver, drained in %.1f s; p99 nginx %s, gateway %s\n' \
        "$round" "$nginx_rate" "$gateway_rate" "$ratio" "$behind" "$(awk "BEGIN { print $(date +%s.%N) - $before }")" \
        "$(awk '/99%/ { print $2 }' "$work/nginx.out")" "$(awk '/99%/ { print $2 }' "$work/gateway.out")"
done
printf 'median ratio: %s\n' "$(sort -n "$work/ratios" | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }')"
sleep 10
printf 'after: %s\n' "$(rss)"
printf 'outbound connections: %s\n' "$(curl -fs http://127.0.0.1:$fake/stats)"
