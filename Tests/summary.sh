#!/bin/bash
# Lists what a log of tests says was skipped and what failed. Many CI systems keep only the end of a log.
set -uo pipefail
if grep -a -q '^➜' "$1"; then
    echo "=== What was skipped:"
    grep -a '^➜' "$1" | cut -c 1-300
fi
if grep -a -q -E '^✘|error:' "$1"; then
    echo "=== What failed:"
    grep -a -A 6 -E '✘|recorded an issue|error:' "$1" | grep -a -v -E '^(✔|◇)' | cut -c 1-600 | tail -n 60
fi
