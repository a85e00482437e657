#!/bin/bash
# Runs the end-to-end tests in four processes at once, then lists what failed. A process runs as many tests at a time as there are
# processors, and most of these tests wait for timers and other processes.
set -uo pipefail
here=$(dirname "$0")
swift build --build-tests || exit 1
program=$(swift build --show-bin-path)/authproxyPackageTests.xctest
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# By the first letter of the suite's name.
quarters=('A-F' 'G-L' 'M-P' 'Q-Z')
jobs=()
for quarter in "${quarters[@]}"; do
    NO_COLOR=1 "$program" --testing-library swift-testing --filter "EndToEndTests\.[$quarter]" --skip 'EndToEndTests\.Peer' \
        > "$logs/$quarter" 2>&1 &
    jobs+=($!)
done
failed=()
for index in "${!quarters[@]}"; do
    quarter=${quarters[$index]}
    wait "${jobs[$index]}" && grep -a -q 'Test run with' "$logs/$quarter" || failed+=("$quarter")
done
for quarter in "${quarters[@]}"; do
    echo "=== Suites $quarter"
    cat "$logs/$quarter"
done
for quarter in "${quarters[@]}"; do "$here/summary.sh" "$logs/$quarter"; done
# Four processes excuse no more than two did.
count=$(grep -a -h -E '^✘ Suite .* failed after' "$logs"/* | wc -l)
[ "$count" -le 6 ] || exit 1
status=0
for quarter in "${failed[@]}"; do
    NO_COLOR=1 "$here/again.sh" "$logs/$quarter" "$program" --testing-library swift-testing || status=1
done
exit $status
