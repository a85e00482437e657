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
halves=('A-L' 'M-Z')
jobs=()
for half in "${halves[@]}"; do
    NO_COLOR=1 "$program" --testing-library swift-testing --filter "EndToEndTests\.[$half]" --skip 'EndToEndTests\.Peer' \
        > "$logs/$half" 2>&1 &
    jobs+=($!)
done
failed=()
for index in "${!halves[@]}"; do
    half=${halves[$index]}
    wait "${jobs[$index]}" && grep -a -q 'Test run with' "$logs/$half" || failed+=("$half")
done
for half in "${halves[@]}"; do
    echo "=== Suites $half"
    cat "$logs/$half"
done
for half in "${halves[@]}"; do "$here/summary.sh" "$logs/$half"; done
status=0
for half in "${failed[@]}"; do
    NO_COLOR=1 "$here/again.sh" "$logs/$half" "$program" --testing-library swift-testing || status=1
done
exit $status
