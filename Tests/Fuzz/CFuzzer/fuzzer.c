#include "CFuzzer.h"

// From the toolchain's libclang_rt.fuzzer_no_main; it has no header.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*check)(const uint8_t *bytes, size_t count));

int fuzz_run(int argc, char **argv, int (*check)(const uint8_t *bytes, size_t count)) {
  return LLVMFuzzerRunDriver(&argc, &argv, check);
}

// LeakSanitizer does not see through what Swift's enums do with the bits of pointers, and takes parts of the configuration's key
// tables for lost. Each table is made once in a process, so nothing grows; what is made with each input is not made in there.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:swift::threading_impl::once_slow\n"; }
