#!/bin/bash
# Runs `swift test` with the given arguments, and lists what was skipped and what failed again at the end, as many CI systems
# keep only the end.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift test "$@" 2>&1 | tee "$log"
status=$?
if grep -a -q '^➜' "$log"; then
    echo "=== What was skipped:"
    grep -a '^➜' "$log" | cut -c 1-300
fi
if [ $status -ne 0 ]; then
    echo "=== What failed:"
    grep -a -A 6 -E '✘|recorded an issue|error:' "$log" | grep -a -v -E '^(✔|◇)' | cut -c 1-600 | tail -n 60
fi
exit $status
