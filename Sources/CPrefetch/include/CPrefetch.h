// What Swift has no word for.
#pragma once
#include <stddef.h>

/// Has the processor fetch memory into its cache, line by line, without waiting for it. Any address is allowed.
static inline void cprefetch(const void *start, size_t bytes) {
  for (size_t offset = 0; offset < bytes; offset += 64) __builtin_prefetch((const char *)start + offset, 1);
}
