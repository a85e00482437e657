#pragma once
#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer with the command line of the program; returns its exit status.
int fuzz_run(int argc, char *_Nullable *_Nonnull argv, int (*_Nonnull check)(const uint8_t *_Nullable bytes, size_t count));
