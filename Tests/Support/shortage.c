// Preloaded into the program under test, to simulate shortages. Names under `.slow.test` resolve late, names under `.test` to
// 127.0.0.1. While a file exists, no socket can be added to an epoll.
//   SHORTAGE_SLOW=milliseconds   the delay
//   SHORTAGE_LOG=file            gets a line for each name
//   SHORTAGE_ACCEPT=file         while it exists, accept4 of a unix socket fails with EMFILE
//   SHORTAGE_EPOLL=file          while it exists, EPOLL_CTL_ADD of a socket fails with ENOSPC, but not for libdispatch, which adds its
//                                signals and timers at any time
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int ends_with(const char *name, const char *end) {
  size_t n = strlen(name), m = strlen(end);
  return n >= m && strcmp(name + n - m, end) == 0;
}

static void note(const char *name) {
  const char *path = getenv("SHORTAGE_LOG");
  if (!path) return;
  char line[300];
  int count = snprintf(line, sizeof line, "%s\n", name);
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (write(file, line, count) < 0) abort();
  close(file);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  if (!next) next = (__typeof__(next))dlsym(RTLD_NEXT, "getaddrinfo");
  if (!name || !ends_with(name, ".test")) return next(name, service, hints, result);
  note(name);
  const char *late = getenv("SHORTAGE_SLOW");
  if (late && ends_with(name, ".slow.test")) usleep(1000 * (useconds_t)atoi(late));
  if (ends_with(name, ".gone.test")) return EAI_NONAME;
  return next("127.0.0.1", service, hints, result);
}

int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags) {
  static int (*next)(int, struct sockaddr *, socklen_t *, int);
  if (!next) next = (__typeof__(next))dlsym(RTLD_NEXT, "accept4");
  const char *path = getenv("SHORTAGE_ACCEPT");
  int domain = 0;
  socklen_t size = sizeof domain;
  if (path && access(path, F_OK) == 0 && getsockopt(listener, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX) {
    errno = EMFILE;
    return -1;
  }
  return next(listener, address, length, flags);
}

int epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event) {
  static int (*next)(int, int, int, struct epoll_event *);
  if (!next) next = (__typeof__(next))dlsym(RTLD_NEXT, "epoll_ctl");
  const char *path = getenv("SHORTAGE_EPOLL");
  struct stat status;
  if (operation == EPOLL_CTL_ADD && path && access(path, F_OK) == 0 && fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode)) {
    errno = ENOSPC;
    return -1;
  }
  return next(epoll, operation, descriptor, event);
}
