#include "CFuzzer.h"

// From the toolchain's libclang_rt.fuzzer_no_main; it has no header.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*check)(const uint8_t *bytes, size_t count));

int fuzz_run(int argc, char **argv, int (*check)(const uint8_t *bytes, size_t count)) {
  return LLVMFuzzerRunDriver(&argc, &argv, check);
}
