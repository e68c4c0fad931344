#!/usr/bin/env bash
# Instructions that each step of a webhook's way takes, counted by callgrind: the same wherever and whenever it is run, but for
# the compiler. The difference of two runs, so that starting does not count. Needs valgrind. Writes stress/instructions.md.
#
#   stress/instructions.sh
set -euo pipefail
cd "$(dirname "$0")/.."
command -v valgrind >/dev/null || { echo "missing: valgrind" >&2; exit 2; }

steps=$(CARGO_PROFILE_BENCH_DEBUG=0 cargo bench --bench steps --locked --no-run --message-format=json 2>/dev/null |
    python3 -c 'import json, sys
print([one["executable"] for one in map(json.loads, sys.stdin) if one.get("target", {}).get("name") == "steps" and one.get("executable")][-1])')

count() { # times, step -> instructions
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$steps" --repeat "$1" "$2" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
{
    echo "<!-- stress/instructions.sh -->"
    echo "$(rustc --version | cut -d' ' -f1,2), commit $(git rev-parse --short HEAD)$(git diff --quiet HEAD -- src || echo ' and changes')"
    echo
    echo "| step | thousands of instructions |"
    echo "| --- | ---: |"
    "$steps" --list-steps | while read -r step; do
        few=$(count 10 "$step") many=$(count 60 "$step")
        echo "| $step | $(((many - few) / 50 / 1000)) |"
    done
} | tee stress/instructions.md
