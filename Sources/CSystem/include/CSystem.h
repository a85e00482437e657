// Parts of libc that Swift cannot call, or cannot call safely: variadic functions, macros, and every system call whose errno
// matters. The wrappers return the call's result, or -errno. They retry after EINTR where a retry is right.
#pragma once
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
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

// EPOLLPRI: TCP urgent data, at whose mark a receive stops short (tcp(7)).
static const unsigned CSYS_EDGE = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET;
static const unsigned CSYS_LEVEL_IN = EPOLLIN;
static const unsigned CSYS_LISTENER = EPOLLIN | EPOLLEXCLUSIVE;

static inline int csys_errno(void) { return errno; }

/// Nanoseconds of CLOCK_MONOTONIC.
static inline int64_t csys_monotonic(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/// Nanoseconds of CLOCK_BOOTTIME, which goes on while the machine is suspended.
static inline int64_t csys_boottime(void) {
  struct timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/// Nanoseconds since 1970.
static inline int64_t csys_wall_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline long csys_recv(int fd, void *to, size_t count) {
  ssize_t n;
  do n = recv(fd, to, count, 0);
  while (n < 0 && errno == EINTR);
  return n < 0 ? -errno : n;
}

/// 1 if a byte waits, 0 at the end of the stream. Takes nothing.
static inline long csys_peek(int fd) {
  char byte;
  ssize_t n;
  do n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  while (n < 0 && errno == EINTR);
  return n < 0 ? -errno : n;
}

static inline long csys_send(int fd, const void *from, size_t count) {
  ssize_t n;
  do n = send(fd, from, count, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  return n < 0 ? -errno : n;
}

/// Writes two ranges with one call; either may be empty.
static inline long csys_send2(int fd, const void *a, size_t a_count, const void *b, size_t b_count) {
  struct iovec v[2] = {{(void *)a, a_count}, {(void *)b, b_count}};
  struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
  ssize_t n;
  do n = sendmsg(fd, &m, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  return n < 0 ? -errno : n;
}

/// Sends up to `count` ranges in order, in one call.
static inline long csys_send_all(int fd, const struct iovec *ranges, size_t count) {
  struct msghdr m = {.msg_iov = (struct iovec *)ranges, .msg_iovlen = count};
  ssize_t n;
  do n = sendmsg(fd, &m, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  return n < 0 ? -errno : n;
}

static inline int csys_epoll_wait(int epoll, struct epoll_event *events, int capacity, int milliseconds) {
  int n = epoll_wait(epoll, events, capacity, milliseconds);
  return n < 0 ? -errno : n;
}

static inline int csys_error_of(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0 ? errno : error;
}

static inline int csys_set_option(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) < 0 ? -errno : 0;
}

/// Accepts a connection, non-blocking and close-on-exec. `address` and `length` may be null.
int csys_accept(int listener, struct sockaddr_storage *address, socklen_t *length);
/// A non-blocking, close-on-exec stream socket of the family.
int csys_stream_socket(int family);
int csys_connect(int fd, const struct sockaddr_storage *address, socklen_t length);
int csys_bind(int fd, const struct sockaddr_storage *address, socklen_t length);
int csys_listen(int fd, int backlog);
int csys_set_nonblocking(int fd);
/// Raises RLIMIT_NOFILE to its hard limit; returns the resulting limit.
uint64_t csys_raise_descriptor_limit(void);
/// Large blocks of memory go back to the kernel when they are freed. Otherwise malloc learns from the first one that is freed to keep all up
/// to 32 MiB, in pieces that fit no other: bodies that are kept would occupy many times `limits.buffers`.
void csys_return_large_memory(void);
/// All threads that are made from now on allocate from one heap. Otherwise each has its own, and what one thread stores and another evicts
/// leaves holes in both.
void csys_share_memory(void);
/// The allocator returns its free pages to the kernel, also those between others.
void csys_trim_memory(void);
/// Gives the pages that lie wholly within `count` bytes from `memory` back to the kernel: the memory stays allocated, and is zero there.
void csys_drop_pages(void *memory, size_t count);
/// The process gives back the pages of code and constants, its own and the libraries': what it uses again comes back from the kernel's page
/// cache, and what only start and reload need does not count as its memory any more.
void csys_release_code(void);
/// CPUs that this process may run on.
int csys_cpu_affinity_count(void);
/// open(2) with O_CLOEXEC.
int csys_open(const char *path, int flags, unsigned mode);
/// Writes the error's text, NUL-terminated, to `buffer`.
void csys_error_text(int error, char *buffer, size_t capacity);
/// getpeername and getsockname; 0 or -errno.
int csys_peer_name(int fd, struct sockaddr_storage *address);
int csys_local_name(int fd, struct sockaddr_storage *address);
static inline int csys_close(int fd) { return close(fd); }
static inline void csys_ignore_signal(int number) { signal(number, SIG_IGN); }
static inline int csys_is_socket_file(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 && S_ISSOCK(status.st_mode);
}
/// Whether the descriptor is a socket that listens.
static inline int csys_is_listening(int fd) {
  int value = 0;
  socklen_t length = sizeof value;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value;
}
/// Makes a listening TCP socket ignore new connections. Those whose handshake has begun can still be accepted.
int csys_refuse_new_connections(int listener);
/// Sends one datagram to a unix socket; `@` means the abstract name space (sd_notify(3)). 0 or -errno. Waits up to `seconds`
/// for room in the receiver's queue.
int csys_notify(const char *path, const char *message, int seconds);
/// Inode of the path itself; 0 if it does not exist.
static inline uint64_t csys_inode(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 ? status.st_ino : 0;
}
/// A listening unix stream socket of this name in the abstract name space (unix(7)), non-blocking and close-on-exec; or -errno.
int csys_abstract_listener(const void *name, size_t count);
/// The user at the other end of a unix socket; -1: it is none.
int64_t csys_peer_user(int fd);
/// Whether the other end of a unix socket was connected by this process.
int csys_peer_is_this_process(int fd);
static inline int csys_page_size(void) { return (int)sysconf(_SC_PAGESIZE); }
static inline int csys_clock_ticks(void) { return (int)sysconf(_SC_CLK_TCK); }
static inline uint64_t csys_descriptor_limit(void) {
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}
/// User and system time of the process, in nanoseconds.
static inline int64_t csys_processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
/// The same of the calling thread.
static inline int64_t csys_thread_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
/// Number of open descriptors of the process; -1 without /proc.
int csys_open_descriptors(void);
/// pipe2(2) with O_CLOEXEC; 0 or -errno.
int csys_pipe(int ends[2]);
/// The same with O_NONBLOCK, for csys_splice.
int csys_splice_pipe(int ends[2]);
/// F_SETPIPE_SZ; the size in bytes, or -errno.
int csys_set_pipe_pages(int pipe, int pages);
/// splice(2) without waiting: moves up to `count` bytes, one of the two a pipe. 0 at the end of the stream; -errno.
long csys_splice(int from, int to, size_t count);
/// Closes all descriptors from `first` on in the spawned program.
int csys_spawn_close_from(posix_spawn_file_actions_t *actions, int first);
extern char **environ;
/// Ends the process at once. Handlers of exit(3) do not run, as OpenSSL's would free memory that other threads use.
_Noreturn void csys_exit(int status);
/// PR_SET_DUMPABLE: with 0 the kernel writes no core file, and only root can attach or read the memory; 0 or -errno.
int csys_set_dumpable(int dumpable);
/// Columns of the terminal; 0: it is none, or does not tell.
int csys_terminal_columns(int fd);
/// The program's arguments from the kernel, its name first. They live as long as the process.
int csys_argument_count(void);
const char *csys_argument(int index);
static inline char **csys_environment(void) { return environ; }
static inline long csys_read(int fd, void *to, size_t count) {
  ssize_t n;
  do n = read(fd, to, count);
  while (n < 0 && errno == EINTR);
  return n < 0 ? -errno : n;
}
static inline long csys_write(int fd, const void *from, size_t count) {
  ssize_t n;
  do n = write(fd, from, count);
  while (n < 0 && errno == EINTR);
  return n < 0 ? -errno : n;
}
