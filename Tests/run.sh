#!/bin/bash
# Runs `swift test` with the given arguments, and lists what was skipped and what failed again at the end.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift test "$@" 2>&1 | tee "$log"
status=$?
"$(dirname "$0")/summary.sh" "$log"
exit $status
