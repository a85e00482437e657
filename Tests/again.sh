#!/bin/bash
# Runs the suites that failed once more, one test after another, and says so: Tests/again.sh LOG COMMAND [ARGUMENT ...], with the log of
# the first run and the command that runs tests. A busy machine may hold up a peer for longer than a test waits; a fault of the program
# usually fails here, too. What passes only now is listed, to be looked into. Fails if a test fails again, or if more suites failed than a
# busy machine explains.
set -uo pipefail
log=$1
shift
most=3
# The name of a suite; tests outside of suites, crashes and faults of the build are never excused.
mapfile -t suites < <(grep -a -o -E '^✘ Suite "?[A-Za-z0-9_]+"? failed' "$log" | awk '{ print $3 }' | tr -d '"' | sort -u)
grep -a -q -E '^✘ Test run with .* failed' "$log" || exit 1
[ "${#suites[@]}" -gt 0 ] && [ "${#suites[@]}" -le "$most" ] || exit 1
echo "=== Once more, alone: ${suites[*]}"
again=$(mktemp)
trap 'rm -f "$again"' EXIT
"$@" --no-parallel --filter "\.($(IFS='|'; echo "${suites[*]}"))/" 2>&1 | tee "$again"
status=${PIPESTATUS[0]}
grep -a -q -E '^✔ Test run with [1-9]' "$again" || status=1
if [ "$status" = 0 ]; then echo "=== Passed only when run alone: ${suites[*]}"; fi
exit "$status"
