// What of libc Swift cannot call by itself, or cannot call safely: variadic functions, macros, errno.
#pragma once
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const unsigned CSYS_EDGE = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
static const unsigned CSYS_EXCLUSIVE = EPOLLEXCLUSIVE;

static inline int csys_errno(void) { return errno; }

/// Accepts a connection, non-blocking and close-on-exec. The peer's address is written when `address` is not null.
int csys_accept(int listener, struct sockaddr_storage *address, socklen_t *length);
