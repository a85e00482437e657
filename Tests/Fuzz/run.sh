#!/bin/sh
# Builds the fuzz targets and runs each of them: Tests/Fuzz/run.sh [seconds of each, 60; 0 = build only] [target ...]
# A finding stops the run and prints the input's path; make it a test. The corpus stays in .build-fuzz/corpus.
set -eu
cd "$(dirname "$0")/../.."
seconds="${1:-60}"
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- $(cd Tests/Fuzz && ls -d *Fuzz)

# The fuzzer's library is part of the toolchain.
resources=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p')
AUTHPROXY_FUZZ_RUNTIME="$resources/clang/lib/linux/libclang_rt.fuzzer_no_main-$(uname -m).a"
export AUTHPROXY_FUZZ_RUNTIME
export AUTHPROXY_FUZZ=1
# Swift's crash report and the sanitizer's interfere with each other.
export SWIFT_BACKTRACE=enable=no
[ -f "$AUTHPROXY_FUZZ_RUNTIME" ] || { echo "this Swift toolchain has no $AUTHPROXY_FUZZ_RUNTIME" >&2; exit 1; }

for target in "$@"; do
  swift build -c release --scratch-path .build-fuzz --product "$target"
done
[ "$seconds" = 0 ] && exit 0
for target in "$@"; do
  corpus=".build-fuzz/corpus/$target"
  mkdir -p "$corpus"
  seeds="Tests/Fuzz/Seeds/$target"
  [ -d "$seeds" ] || seeds=
  dictionary="Tests/Fuzz/Seeds/$target.dict"
  [ -f "$dictionary" ] || dictionary=Tests/Fuzz/Seeds/http.dict
  echo "== $target, $seconds s"
  ".build-fuzz/release/$target" "$corpus" $seeds -dict="$dictionary" -max_total_time="$seconds" -max_len=5000 -timeout=5 -rss_limit_mb=2048 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix=".build-fuzz/$target-"
done
