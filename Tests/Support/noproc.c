// Preloaded: no file below /proc can be opened, as in a jail without /proc.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int hidden(const char *path) {
  if (strncmp(path, "/proc", 5) != 0) return 0;
  errno = ENOENT;
  return 1;
}

#define OPEN(name)                                                      \
  int name(const char *path, int flags, ...) {                          \
    va_list arguments;                                                  \
    va_start(arguments, flags);                                         \
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0; \
    va_end(arguments);                                                  \
    if (hidden(path)) return -1;                                        \
    int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, #name);      \
    return next(path, flags, mode);                                     \
  }
OPEN(open)
OPEN(open64)

#define FOPEN(name)                                                 \
  FILE *name(const char *path, const char *mode) {                  \
    if (hidden(path)) return NULL;                                  \
    FILE *(*next)(const char *, const char *) = dlsym(RTLD_NEXT, #name); \
    return next(path, mode);                                        \
  }
FOPEN(fopen)
FOPEN(fopen64)
