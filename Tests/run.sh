#!/bin/bash
# Runs `swift test` with the given arguments, and lists what was skipped and what failed again at the end.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift test "$@" 2>&1 | tee "$log"
status=$?
here=$(dirname "$0")
"$here/summary.sh" "$log"
if [ "$status" != 0 ]; then
    "$here/again.sh" "$log" swift test --skip-build && status=0
fi
exit $status
