// An HTTP parent proxy for benchmarks: CONNECT, and bytes both ways. One thread, epoll.
//
//   parent
//       Prints its port. Each CONNECT leads to the target's port on 127.0.0.1. Ends with its standard input.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { APP, FAR, HEAD = 4096, BUFFER = 256 << 10 };
typedef struct Pair Pair;
typedef struct {
  Pair *pair;
  int fd;
  // What could not be written to it yet.
  char *unsent;
  size_t length;
  bool ended;
} End;
struct Pair {
  End ends[2];
  char *head;
  size_t head_length;
  bool closed;
  Pair *next;
};

static int epoll;
static char buffer[BUFFER];
// Freed once all events of one turn have been handled.
static Pair *closed;

static void die(const char *what) {
  fprintf(stderr, "parent: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void watch(End *end, int operation) {
  End *other = &end->pair->ends[end == &end->pair->ends[APP] ? FAR : APP];
  uint32_t wanted = (end->length ? EPOLLOUT : 0) | (other->length || end->ended ? 0 : EPOLLIN);
  struct epoll_event event = {.events = wanted, .data.ptr = end};
  if (epoll_ctl(epoll, operation, end->fd, &event) < 0) die("epoll_ctl");
}

static void pair_close(Pair *pair) {
  if (pair->closed) return;
  pair->closed = true;
  for (int i = APP; i <= FAR; i++) {
    if (pair->ends[i].fd >= 0) close(pair->ends[i].fd);
    free(pair->ends[i].unsent);
  }
  free(pair->head);
  pair->next = closed;
  closed = pair;
}

static void put(End *to, const char *data, size_t size) {
  ssize_t sent = send(to->fd, data, size, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) return pair_close(to->pair);
  size_t rest = size - (sent > 0 ? (size_t)sent : 0);
  if (!rest) return;
  to->unsent = malloc(rest);
  memcpy(to->unsent, data + size - rest, rest);
  to->length = rest;
  for (int i = APP; i <= FAR; i++) watch(&to->pair->ends[i], EPOLL_CTL_MOD);
}

static void flush(End *end) {
  ssize_t sent = send(end->fd, end->unsent, end->length, MSG_NOSIGNAL);
  if (sent < 0) {
    if (errno != EAGAIN) pair_close(end->pair);
    return;
  }
  end->length -= (size_t)sent;
  memmove(end->unsent, end->unsent + sent, end->length);
  if (end->length) return;
  free(end->unsent);
  end->unsent = NULL;
  for (int i = APP; i <= FAR; i++) watch(&end->pair->ends[i], EPOLL_CTL_MOD);
}

static void begin(Pair *pair) {
  char *end = memmem(pair->head, pair->head_length, "\r\n\r\n", 4);
  if (!end) {
    if (pair->head_length == HEAD) pair_close(pair);
    return;
  }
  *end = 0;
  char *stop = strstr(pair->head, " HTTP/1.1");
  if (strncmp(pair->head, "CONNECT ", 8) || !stop) return pair_close(pair);
  *stop = 0;
  char *colon = strrchr(pair->head, ':');
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  to.sin_port = htons((uint16_t)(colon ? atoi(colon + 1) : 0));
  End *far = &pair->ends[FAR];
  far->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (far->fd < 0 || connect(far->fd, (struct sockaddr *)&to, sizeof to) < 0) return pair_close(pair);
  int one = 1;
  setsockopt(far->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  fcntl(far->fd, F_SETFL, O_NONBLOCK);
  watch(far, EPOLL_CTL_ADD);
  free(pair->head);
  pair->head = NULL;
  put(&pair->ends[APP], "HTTP/1.1 200 OK\r\n\r\n", 19);
}

static void get(End *end) {
  Pair *pair = end->pair;
  if (pair->head) {
    ssize_t count = recv(end->fd, pair->head + pair->head_length, HEAD - pair->head_length, 0);
    if (count <= 0) return pair_close(pair);
    pair->head_length += (size_t)count;
    return begin(pair);
  }
  ssize_t count = recv(end->fd, buffer, sizeof buffer, 0);
  if (count < 0 && errno == EAGAIN) return;
  // Half-closed connections are no part of the benchmarks.
  if (count <= 0) return pair_close(pair);
  put(&pair->ends[end == &pair->ends[APP] ? FAR : APP], buffer, (size_t)count);
}

static void accept_all(int listener) {
  for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    Pair *pair = calloc(1, sizeof *pair);
    pair->head = malloc(HEAD);
    pair->ends[APP] = (End){.pair = pair, .fd = fd};
    pair->ends[FAR] = (End){.pair = pair, .fd = -1};
    watch(&pair->ends[APP], EPOLL_CTL_ADD);
  }
}

int main(void) {
  struct rlimit most;
  getrlimit(RLIMIT_NOFILE, &most);
  most.rlim_cur = most.rlim_max;
  setrlimit(RLIMIT_NOFILE, &most);
  epoll = epoll_create1(EPOLL_CLOEXEC);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  if (bind(listener, (struct sockaddr *)&at, size) < 0 || listen(listener, 4096) < 0) die("listen");
  getsockname(listener, (struct sockaddr *)&at, &size);
  printf("%d\n", ntohs(at.sin_port));
  fflush(stdout);
  static End input = {.fd = 0}, door;
  door.fd = listener;
  for (End *end = &input;; end = &door) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = end};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, end->fd, &event) < 0) die("epoll_ctl");
    if (end == &door) break;
  }
  struct epoll_event events[256];
  for (;;) {
    int count = epoll_wait(epoll, events, 256, -1);
    for (int i = 0; i < count; i++) {
      End *end = events[i].data.ptr;
      if (end == &input) return 0;
      if (end == &door) {
        accept_all(listener);
        continue;
      }
      if (end->pair->closed) continue;
      if (events[i].events & EPOLLOUT && end->length) flush(end);
      if (!end->pair->closed && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) get(end);
    }
    while (closed) {
      Pair *next = closed->next;
      free(closed);
      closed = next;
    }
  }
}
