#!/bin/bash
# Runs the suites that failed once more, one test after another, and says so: Tests/again.sh LOG COMMAND [ARGUMENT ...], with the log of
# the first run and the command that runs tests. A busy machine may hold up a peer for longer than a test waits; a fault of the program
# usually fails here, too. What passes only now is listed, to be looked into. Fails if a test fails again, or if more suites failed than a
# busy machine explains.
set -uo pipefail
log=$1
shift
most=3
# Crashes and faults of the build are never excused, nor are suites with a title, which no filter finds.
grep -a -q -E '^✘ Test run with .* failed' "$log" || exit 1
mapfile -t suites < <(grep -a -E '^✘ Suite .* failed after' "$log" | sed -E 's/^✘ Suite (.*) failed after.*/\1/' | sort -u)
[ "${#suites[@]}" -gt 0 ] && [ "${#suites[@]}" -le "$most" ] || exit 1
for suite in "${suites[@]}"; do [[ $suite =~ ^[A-Za-z0-9_]+$ ]] || exit 1; done
echo "=== Once more, alone: ${suites[*]}"
again=$(mktemp)
trap 'rm -f "$again"' EXIT
"$@" --no-parallel --filter "\.($(IFS='|'; echo "${suites[*]}"))/" 2>&1 | tee "$again"
status=${PIPESTATUS[0]}
grep -a -q -E '^✔ Test run with [1-9]' "$again" || status=1
if [ "$status" = 0 ]; then echo "=== Passed only when run alone: ${suites[*]}"; fi
exit "$status"
