#define _GNU_SOURCE 1
#include "CSystem.h"

#include <dirent.h>
#include <link.h>
#include <linux/filter.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>

int csys_accept(int listener, struct sockaddr_storage *address, socklen_t *length) {
  int fd;
  do fd = accept4(listener, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  while (fd < 0 && errno == EINTR);
  return fd < 0 ? -errno : fd;
}

int csys_stream_socket(int family) {
  int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return fd < 0 ? -errno : fd;
}

// The kernel continues an interrupted connect: EINTR is reported as EINPROGRESS, and the event brings the result.
int csys_connect(int fd, const struct sockaddr_storage *address, socklen_t length) {
  if (connect(fd, (const struct sockaddr *)address, length) == 0) return 0;
  return errno == EINTR ? -EINPROGRESS : -errno;
}

int csys_bind(int fd, const struct sockaddr_storage *address, socklen_t length) {
  return bind(fd, (const struct sockaddr *)address, length) < 0 ? -errno : 0;
}

int csys_abstract_listener(const void *name, size_t count) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (count + 1 > sizeof address.sun_path) return -ENAMETOOLONG;
  memcpy(address.sun_path + 1, name, count);
  int fd = csys_stream_socket(AF_UNIX);
  if (fd < 0) return fd;
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + count);
  if (bind(fd, (const struct sockaddr *)&address, length) == 0 && listen(fd, 4) == 0) return fd;
  int error = errno;
  close(fd);
  return -error;
}

int64_t csys_peer_user(int fd) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? (int64_t)peer.uid : -1;
}

int csys_peer_is_this_process(int fd) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == getpid();
}

int csys_listen(int fd, int backlog) { return listen(fd, backlog) < 0 ? -errno : 0; }

int csys_set_nonblocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return -errno;
  return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0;
}

void csys_return_large_memory(void) {
  mallopt(M_MMAP_THRESHOLD, 512 << 10);
  // The top of the heap stays for blocks that come and go.
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

void csys_share_memory(void) { mallopt(M_ARENA_MAX, 1); }

void csys_trim_memory(void) { malloc_trim(0); }

void csys_drop_pages(void *memory, size_t count) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t start = ((uintptr_t)memory + page - 1) & ~(page - 1);
  uintptr_t end = ((uintptr_t)memory + count) & ~(page - 1);
  if (start < end) madvise((void *)start, end - start, MADV_DONTNEED);
}

// Segments that were ever writable hold relocated addresses: the file does not have those.
static int release_code(struct dl_phdr_info *object, size_t size, void *context) {
  (void)size, (void)context;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  for (int index = 0; index < object->dlpi_phnum; index++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
    if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
    uintptr_t start = object->dlpi_addr + segment->p_vaddr;
    uintptr_t end = start + segment->p_filesz;
    start &= ~(page - 1);
    madvise((void *)start, end - start, MADV_DONTNEED);
  }
  return 0;
}

void csys_release_code(void) { dl_iterate_phdr(release_code, NULL); }

uint64_t csys_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

int csys_cpu_affinity_count(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int csys_open(const char *path, int flags, unsigned mode) {
  int fd;
  do fd = open(path, flags | O_CLOEXEC, mode);
  while (fd < 0 && errno == EINTR);
  return fd < 0 ? -errno : fd;
}

void csys_error_text(int error, char *buffer, size_t capacity) {
  const char *text = strerror_r(error, buffer, capacity);
  if (text != buffer) {
    strncpy(buffer, text, capacity - 1);
    buffer[capacity - 1] = 0;
  }
}

int csys_peer_name(int fd, struct sockaddr_storage *address) {
  socklen_t length = sizeof *address;
  return getpeername(fd, (struct sockaddr *)address, &length) < 0 ? -errno : 0;
}

int csys_local_name(int fd, struct sockaddr_storage *address) {
  socklen_t length = sizeof *address;
  return getsockname(fd, (struct sockaddr *)address, &length) < 0 ? -errno : 0;
}

int csys_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) < 0 ? -errno : 0; }

int csys_splice_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : 0; }

int csys_set_pipe_pages(int pipe, int pages) {
  int size = fcntl(pipe, F_SETPIPE_SZ, pages * getpagesize());
  return size < 0 ? -errno : size;
}

long csys_splice(int from, int to, size_t count) {
  ssize_t n;
  do n = splice(from, NULL, to, NULL, count, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  while (n < 0 && errno == EINTR);
  return n < 0 ? -errno : n;
}

int csys_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

void csys_exit(int status) { _exit(status); }

int csys_set_dumpable(int dumpable) { return prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0) < 0 ? -errno : 0; }

static int argument_count;
static char **arguments;

// glibc calls the functions of .init_array with main's arguments (elf/dl-init.c). Swift reads /proc/self/cmdline instead, which
// may not exist in a jail.
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
  argument_count = count;
  arguments = values;
}

int csys_argument_count(void) { return argument_count; }
const char *csys_argument(int index) { return arguments[index]; }

// A classic BPF program on the listener sees segments from their TCP header on: byte 13 has the flags. It drops a SYN without
// ACK, which requests a new connection; the sender repeats it a second later.
int csys_refuse_new_connections(int listener) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
  };
  struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
  return setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0 ? -errno : 0;
}

int csys_notify(const char *path, const char *message, int seconds) {
  struct sockaddr_un to = {.sun_family = AF_UNIX};
  size_t length = strlen(path);
  if (length == 0 || length >= sizeof to.sun_path) return -EINVAL;
  memcpy(to.sun_path, path, length);
  if (to.sun_path[0] == '@') to.sun_path[0] = 0;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  struct timeval time = {.tv_sec = seconds};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
  ssize_t sent = sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&to,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
  int result = sent < 0 ? -errno : 0;
  close(fd);
  return result;
}

int csys_open_descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  if (!folder) return -1;
  int count = -3;  // the folder's own descriptor, "." and ".."
  while (readdir(folder)) count++;
  closedir(folder);
  return count;
}

int csys_terminal_columns(int fd) {
  struct winsize size;
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
