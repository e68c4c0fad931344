# Sourced by the scripts beside it: builds, starts and stops what they measure. Loopback only, and only processes of its own
# are ended. SKIP_BUILD=1 takes what was built before. Sets $bin, $out and $work.
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bin=${CARGO_TARGET_DIR:-target}/release out=$PWD/target/stress
secret=stress-secret-of-32-characters!!
mkdir -p "$out"
# Beside the results, not in /tmp, which may be no disk: the store is synced.
work=$(mktemp -d "$out/work.XXXXXX")
pids=()
stop_all() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    pids=()
}
trap 'stop_all; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

die() { echo "$*" >&2; exit 1; }
need() { for tool in "$@"; do command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 2; }; done; }
need curl python3
ulimit -n "$(ulimit -Hn)"

build() {
    [ -n "${SKIP_BUILD:-}" ] || { echo "building" >&2; cargo build --release --locked --quiet -p hookbell -p fake-ntfy -p stress-bench; }
}
# A port that was free a moment ago.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
ready() { for _ in $(seq 150); do curl -fs "$1" >/dev/null && return; sleep 0.1; done; die "not ready: $1"; }
stop() { # pid
    kill "$1" 2>/dev/null || true; wait "$1" 2>/dev/null || true
    local i; for i in "${!pids[@]}"; do [ "${pids[$i]}" != "$1" ] || unset "pids[$i]"; done
}

# Each sets NAME_pid and NAME_url of what it starts.
start_fake() { # name, flags of fake-ntfy
    local name=$1 port; port=$(free_port); shift
    "$bin/fake-ntfy" --port "$port" --keep 0 "$@" >"$work/$name.log" 2>&1 & pids+=($!)
    printf -v "${name}_pid" %s $!; printf -v "${name}_url" %s "http://127.0.0.1:$port"
    # Not /v1/health, which misbehaves with the rest.
    ready "http://127.0.0.1:$port/stats"
}
start_gateway() { # URL of ntfy, folder of rules, folder of the store, flags of hookbell
    local ntfy=$1 rules=$2 data=$3 port admin; port=$(free_port) admin=$(free_port); shift 3
    NTFY_URL=$ntfy STRESS_SECRET=$secret GITHUB_WEBHOOK_SECRET=$secret COOLIFY_WEBHOOK_SECRET=$secret \
        "$bin/hookbell" --listen "127.0.0.1:$port" --admin "127.0.0.1:$admin" --rules "$rules" --data "$data" "$@" \
        >>"$work/gateway.log" 2>&1 & gateway_pid=$!; pids+=($!)
    gateway_url=http://127.0.0.1:$port admin_url=http://127.0.0.1:$admin
    # Not /readyz, which is not ready while ntfy is down.
    ready "$admin_url/healthz"
}
start_nginx() { # URL of ntfy
    local port; port=$(free_port)
    mkdir -p "$work/nginx"
    # Kind to nginx: it keeps every connection, and bodies in memory.
    cat > "$work/nginx/nginx.conf" <<CONF
worker_processes 2; worker_rlimit_nofile 20000; daemon off; pid nginx.pid; error_log nginx.err warn;
events { worker_connections 8192; }
http {
    access_log off; keepalive_requests 1000000000; client_max_body_size 8m; client_body_buffer_size 2m;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
    upstream fake { server ${1#http://}; keepalive 1024; keepalive_requests 1000000000; }
    server {
        listen 127.0.0.1:$port backlog=4096;
        location / { proxy_pass http://fake; proxy_http_version 1.1; proxy_set_header Connection ""; }
    }
}
CONF
    nginx -e nginx.err -c "$work/nginx/nginx.conf" -p "$work/nginx/" & pids+=($!)
    nginx_url=http://127.0.0.1:$port
    ready "$nginx_url/v1/health"
}

metric() { # name without its prefix, and a label value if any
    curl -fs "$admin_url/metrics" | awk -v name="hookbell_$1" -v label="${2:-}" \
        '$1 ~ "^" name "([{]|$)" && (label == "" || index($1, "\"" label "\"")) { sum += $NF } END { printf "%.0f\n", sum }'
}
# What is accepted is also delivered: waits until nothing waits any more, or so many seconds, and prints how much is left.
drain() { # seconds
    local left end=$((SECONDS + $1))
    while left=$(metric queue_depth); [ "$left" != 0 ] && [ $SECONDS -lt "$end" ]; do sleep 0.2; done
    echo "$left"
}
rss() { awk -v field="$2:" '$1 == field { printf "%.1f\n", $2 / 1024 }' "/proc/$1/status"; } # pid, VmRSS or RssAnon -> MB
cpu() { sed 's/.*) //' "/proc/$1/stat" | awk -v hz="$(getconf CLK_TCK)" '{ printf "%.2f\n", ($12 + $13) / hz }'; } # pid -> s
behaviour() { curl -fs -H 'Content-Type: application/json' -d "$2" "$1/behaviour"; } # URL of a fake ntfy, JSON
stat_of() { curl -fs "$1/stats" | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$2"; } # URL, field
