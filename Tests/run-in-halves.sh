#!/bin/bash
# Runs the end-to-end tests in two processes at once, then lists what failed. A process runs as many tests at a time as there are
# processors, and most of these tests wait for timers and other processes.
set -uo pipefail
here=$(dirname "$0")
swift build --build-tests || exit 1
program=$(swift build --show-bin-path)/authproxyPackageTests.xctest
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# By the first letter of the suite's name.
halves=('A-O' 'P-Z')
jobs=()
for half in "${halves[@]}"; do
    NO_COLOR=1 "$program" --testing-library swift-testing --filter "EndToEndTests\.[$half]" --skip 'EndToEndTests\.Peer' \
        > "$logs/$half" 2>&1 &
    jobs+=($!)
done
status=0
for job in "${jobs[@]}"; do wait "$job" || status=$?; done
for half in "${halves[@]}"; do
    echo "=== Suites $half"
    cat "$logs/$half"
    grep -a -q 'Test run with' "$logs/$half" || status=1
done
for half in "${halves[@]}"; do "$here/summary.sh" "$logs/$half"; done
exit $status
