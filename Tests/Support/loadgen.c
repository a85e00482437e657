// A load generator, a holder of connections, and a small fast origin, for tests and benchmarks. One thread, epoll.
//
//   loadgen load --to HOST:PORT --url URL --clients N --requests N [--rate PER_SECOND] [--new-connections fin|rst]
//                [--upload BYTES] [--verify] [--header LINE]... [--timeout SECONDS] [--stop-on-refusal] [--slow BYTES_PER_MS]
//                [--ca FILE [--connect] [--resume] [--names]] [--hold] [--signed-chunks BYTES] [--distinct]
//       Closed loop, or open loop at a fixed rate; then latency counts from the moment the request was due.
//       --verify compares every body with the pattern of pattern.py. --upload sends that many bytes of it.
//       --signed-chunks sends the upload as an AWS SDK does: in chunks of so many bytes, with signatures that are none.
//       --stop-on-refusal ends the run when a new connection is refused, and does not count that one as failed. After SIGTERM it
//       finishes the requests in flight and ends. --slow limits the speed of reading.
//       --ca: requests go over verified TLS, in origin-form; with --connect inside of a CONNECT to the URL's host and port.
//       --resume offers the last session's ticket. --names: the URL's host begins with 00000, which becomes the number of the
//       connection. --distinct: the URL has ?00000000, which becomes the number of the request. --hold keeps all connections open, after the line, until the end of standard input.
//       One line of JSON at the end.
//   loadgen hold --to HOST:PORT --connections N [--send TEXT] [--behind FILE] [--answered] [--trickle TEXT --every MS]
//       Opens N connections, sends TEXT on each (\r \n \t \\ are unescaped), and the bytes of FILE behind it, with --answered awaits one byte on each, prints
//       "held N", then waits for the end of standard input; prints one line of JSON with the results.
//   loadgen pipeline --to HOST:PORT --url URL --clients N --requests N --depth N [--header LINE]...
//       Each client sends so many requests at once, and so many again once it has their answers, which must be 200 with a length: for
//       servers that need more than one processor while this program needs little of another. One line of JSON.
//   loadgen serve [--size BYTES] [--port PORT] [--header LINE]...
//       Prints its port, answers any request with that many bytes and these fields, until the end of standard input.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD = 1048573, BUFFER = 256 << 10 };
static uint8_t pattern[PERIOD + BUFFER];
static char buffer[BUFFER];
static int epoll;

static void die(const char *what) {
  fprintf(stderr, "loadgen: %s: %s\n", what, strerror(errno));
  exit(1);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct sockaddr_in address(const char *text) {
  char host[64] = "";
  const char *colon = strrchr(text, ':');
  if (!colon || (size_t)(colon - text) >= sizeof host) die("HOST:PORT expected");
  memcpy(host, text, (size_t)(colon - text));
  struct sockaddr_in it = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon + 1))};
  if (inet_pton(AF_INET, host, &it.sin_addr) != 1) die("an IPv4 address expected");
  return it;
}

static char *unescape(const char *text) {
  char *out = malloc(strlen(text) + 1), *to = out;
  for (const char *from = text; *from; from++) {
    if (*from == '\\' && from[1]) {
      from++;
      *to++ = *from == 'r' ? '\r' : *from == 'n' ? '\n' : *from == 't' ? '\t' : *from;
    } else {
      *to++ = *from;
    }
  }
  *to = 0;
  return out;
}

static int open_connection(const struct sockaddr_in *to) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) die("socket");
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(fd, (const struct sockaddr *)to, sizeof *to) < 0 && errno != EINPROGRESS) {
    close(fd);
    return -1;
  }
  return fd;
}

static void watch(int fd, uint32_t events, uint64_t key) {
  struct epoll_event event = {.events = events, .data.u64 = key};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) die("epoll_ctl");
}

// ---- load

enum Framing { LENGTH, CHUNKED, UNTIL_CLOSE };
// What stands between the connection and its first request.
enum Stage { ASKING, ASKED, SHAKING, READY };
typedef struct {
  int fd;
  SSL *ssl;
  enum Stage stage;
  bool busy, writable, connected, closes, head_done;
  size_t head_sent;
  uint64_t body_sent, due;
  enum Framing framing;
  uint64_t left, received;
  int chunk_state;
  char head[16384];
  size_t head_length;
  int status;
} Client;

static struct sockaddr_in target;
static char *request;
// Where the number of a request is written; NULL: nowhere.
static char *request_number;
static size_t request_length;
// Of a body in signed chunks: one chunk as it is sent, and what stands behind the last whole one.
static char *chunk, *chunk_tail;
static size_t chunk_length;
static uint64_t chunk_tail_start;
// Bytes of body on the wire.
static uint64_t upload, wanted, started, finished, good, failed, mismatched, bytes, statuses[600];
static bool verify, fin_each, rst_each, stop_on_refusal;
static volatile sig_atomic_t stopping;
static size_t slow;
static uint32_t *latencies;
static Client *clients;
static int client_count;
static double rate;
static uint64_t begin;
static SSL_CTX *context;
static SSL_SESSION *session;
static char *connect_head, *server_name;
static uint64_t handshakes, resumed;
static bool resumes, holds, invents, distinct;

static int keep_session(SSL *ssl, SSL_SESSION *it) {
  (void)ssl;
  if (!resumes) return 0;
  if (session) SSL_SESSION_free(session);
  session = it;
  return 1;
}

// As recv and send, but over TLS where there is TLS.
static ssize_t over_tls(Client *client, int result) {
  if (result > 0) return result;
  int error = SSL_get_error(client->ssl, result);
  ERR_clear_error();
  if (error == SSL_ERROR_ZERO_RETURN) return 0;
  errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
  return -1;
}

static ssize_t client_get(Client *client, void *to, size_t size) {
  return client->ssl ? over_tls(client, SSL_read(client->ssl, to, (int)size)) : recv(client->fd, to, size, 0);
}

static ssize_t client_put(Client *client, const void *data, size_t size) {
  return client->ssl ? over_tls(client, SSL_write(client->ssl, data, (int)size)) : send(client->fd, data, size, MSG_NOSIGNAL);
}

static void client_close(Client *client) {
  if (client->fd >= 0) {
    if (rst_each) {
      struct linger linger = {1, 0};
      setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    }
    if (client->ssl) {
      if (fin_each) SSL_shutdown(client->ssl);
      SSL_free(client->ssl);
      client->ssl = NULL;
    }
    close(client->fd);
  }
  client->fd = -1;
}

static void stop(int number) {
  (void)number;
  stopping = 1;
}

static void client_open(Client *client) {
  client->fd = open_connection(&target);
  client->connected = false;
  client->writable = true;
  client->stage = connect_head ? ASKING : context ? SHAKING : READY;
  if (client->fd < 0) die("connect");
  if (slow) {
    int small = 16384;
    setsockopt(client->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  }
  watch(client->fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, (uint64_t)(client - clients));
}

static void client_advance(Client *client);

static void client_start(Client *client, uint64_t due) {
  started++;
  client->busy = true;
  client->due = due;
  client->head_sent = client->head_length = 0;
  client->body_sent = client->received = 0;
  client->head_done = client->closes = false;
  client->status = 0;
  if (client->fd < 0) client_open(client);
  client_advance(client);
}

static void client_finish(Client *client, bool ok) {
  uint64_t took = (now_ns() - client->due) / 1000;
  latencies[finished++] = took > UINT32_MAX ? UINT32_MAX : (uint32_t)took;
  client->busy = false;
  if (!ok) failed++;
  else {
    statuses[client->status]++;
    if (client->status >= 200 && client->status < 300) good++;
  }
  if (!ok || client->closes || fin_each || rst_each) client_close(client);
  if (rate == 0 && started < wanted && !stopping) client_start(client, now_ns());
}

static const char *field(Client *client, const char *name) {
  size_t length = strlen(name);
  for (char *line = strstr(client->head, "\r\n"); line; line = strstr(line, "\r\n")) {
    line += 2;
    if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
      line += length + 1;
      while (*line == ' ') line++;
      return line;
    }
  }
  return NULL;
}

static void check(Client *client, const char *data, size_t count) {
  if (verify && memcmp(data, pattern + client->received % PERIOD, count)) mismatched++;
  client->received += count;
  bytes += count;
}

/// Body bytes. Returns true when the message is over.
static bool body(Client *client, const char *data, size_t count) {
  if (client->framing != CHUNKED) {
    if (client->framing == LENGTH && count > client->left) count = client->left;
    check(client, data, count);
    if (client->framing == LENGTH) client->left -= count;
    return client->framing == LENGTH && client->left == 0;
  }
  // States: 0 size line, 1 data, 2 CRLF after data, 3 trailer lines.
  size_t at = 0;
  while (at < count) {
    if (client->chunk_state == 1) {
      size_t piece = count - at < client->left ? count - at : client->left;
      check(client, data + at, piece);
      at += piece;
      if ((client->left -= piece) == 0) client->chunk_state = 2;
      continue;
    }
    char byte = data[at++];
    if (byte != '\n') {
      if (byte != '\r' && client->head_length < 64) client->head[client->head_length++] = byte;
      continue;
    }
    client->head[client->head_length] = 0;
    bool empty = client->head_length == 0;
    client->head_length = 0;
    if (client->chunk_state == 2) client->chunk_state = 0;
    else if (client->chunk_state == 3) {
      if (empty) return true;
    } else {
      client->left = strtoull(client->head, NULL, 16);
      client->chunk_state = client->left ? 1 : 3;
    }
  }
  return false;
}

/// Returns true when the whole answer is there.
static bool client_received(Client *client, const char *data, size_t count) {
  while (!client->head_done) {
    if (client->head_length + count >= sizeof client->head) {
      if (count > sizeof client->head - 1 - client->head_length) {
        // The rest is body; the head must fit.
        size_t part = sizeof client->head - 1 - client->head_length;
        memcpy(client->head + client->head_length, data, part);
        client->head[client->head_length + part] = 0;
        if (!strstr(client->head, "\r\n\r\n")) die("response head too long");
        size_t used = (size_t)(strstr(client->head, "\r\n\r\n") + 4 - client->head) - client->head_length;
        memset(client->head + client->head_length, 0, sizeof client->head - client->head_length);
        return client_received(client, data, used) || client_received(client, data + used, count - used);
      }
    }
    memcpy(client->head + client->head_length, data, count);
    client->head_length += count;
    client->head[client->head_length] = 0;
    char *end = strstr(client->head, "\r\n\r\n");
    if (!end) return false;
    size_t size = (size_t)(end + 4 - client->head);
    size_t rest = client->head_length - size;
    data += count - rest;
    count = rest;
    end[2] = 0;
    client->status = atoi(client->head + 9);
    client->head_length = 0;
    if (client->status < 100 || client->status > 599) client->status = 0;
    if (client->status >= 100 && client->status < 200) continue;
    const char *connection = field(client, "connection");
    client->closes = connection && strncasecmp(connection, "close", 5) == 0;
    const char *length = field(client, "content-length");
    client->head_done = true;
    client->chunk_state = 0;
    if (client->status == 204 || client->status == 304) client->framing = LENGTH, client->left = 0;
    else if (field(client, "transfer-encoding")) client->framing = CHUNKED;
    else if (length) client->framing = LENGTH, client->left = strtoull(length, NULL, 10);
    else client->framing = UNTIL_CLOSE, client->closes = true;
    if (client->framing == LENGTH && client->left == 0) return true;
  }
  return count > 0 && body(client, data, count);
}

// Writes the connection's number into the host's name, wherever that is sent.
static void invent_name(void) {
  static unsigned number;
  char digits[8];
  snprintf(digits, sizeof digits, "%05u", number++ % 100000);
  static char *places[8];
  static int count;
  if (!count)
    for (char *texts[] = {server_name, connect_head, request}, **text = texts; text < texts + 3; text++)
      for (char *at = *text; at && (at = strstr(at, "00000.")); at += 5) places[count++] = at;
  for (int i = 0; i < count; i++) memcpy(places[i], digits, 5);
}

// CONNECT and the TLS handshake, where they are wanted. False: not ready yet, or failed.
static bool client_ready(Client *client) {
  ssize_t count = -1;
  switch (client->stage) {
    case ASKING:
      // The texts are shared: one connection at a time.
      if (invents) invent_name();
      if ((count = send(client->fd, connect_head, strlen(connect_head), MSG_NOSIGNAL)) < 0) break;
      client->stage = ASKED;
      // fall through
    case ASKED:
      // Nothing may follow the head before the ClientHello.
      count = recv(client->fd, client->head + client->head_length, sizeof client->head - 1 - client->head_length, 0);
      if (count <= 0) break;
      client->head[client->head_length += (size_t)count] = 0;
      if (!strstr(client->head, "\r\n\r\n")) return false;
      if (atoi(client->head + 9) != 200) return client_finish(client, false), false;
      client->head_length = 0;
      client->stage = SHAKING;
      // fall through
    case SHAKING:
      if (!client->ssl) {
        client->ssl = SSL_new(context);
        SSL_set_fd(client->ssl, client->fd);
        SSL_set_tlsext_host_name(client->ssl, server_name);
        SSL_set1_host(client->ssl, server_name);
        if (session) SSL_set_session(client->ssl, session);
      }
      if ((count = over_tls(client, SSL_connect(client->ssl))) <= 0) break;
      handshakes++;
      if (SSL_session_reused(client->ssl)) resumed++;
      client->stage = READY;
      // fall through
    case READY: return true;
  }
  if (count < 0 && (errno == EAGAIN || errno == ENOTCONN)) return false;
  client_finish(client, false);
  return false;
}

static void client_read(Client *client);

// Bytes of body from an offset on, and how many there are at once.
static const char *upload_at(uint64_t offset, size_t *count) {
  const char *from = (const char *)pattern + offset % PERIOD;
  uint64_t end = upload;
  if (chunk && offset < chunk_tail_start) {
    from = chunk + offset % chunk_length;
    end = offset - offset % chunk_length + chunk_length;
  } else if (chunk) from = chunk_tail + (offset - chunk_tail_start);
  *count = end - offset < BUFFER ? (size_t)(end - offset) : BUFFER;
  return from;
}

static size_t write_chunk(char *to, size_t size) {
  size_t length = (size_t)sprintf(to, "%zx;chunk-signature=", size);
  memset(to + length, 'd', 64);
  memcpy(to + length + 64, "\r\n", 2);
  length += 66;
  memcpy(to + length, pattern, size);
  length += size;
  if (size) memcpy(to + length, "\r\n", 2), length += 2;
  return length;
}

// Frames the upload. Its length becomes what goes over the wire.
static void frame_upload(size_t size) {
  if (!size || size > 1 << 20) die("--signed-chunks of at most a MiB expected");
  chunk = malloc(size + 128), chunk_tail = malloc(size + 256);
  chunk_length = write_chunk(chunk, size);
  chunk_tail_start = upload / size * chunk_length;
  size_t length = upload % size ? write_chunk(chunk_tail, upload % size) : 0;
  length += write_chunk(chunk_tail + length, 0);
  memcpy(chunk_tail + length, "\r\n", 2);
  upload = chunk_tail_start + length + 2;
}

static void client_advance(Client *client) {
  if (!client->busy || !client_ready(client)) return;
  while (client->busy && client->writable && (client->head_sent < request_length || client->body_sent < upload)) {
    ssize_t sent;
    if (client->head_sent == 0 && request_number) {
      static unsigned count;
      char digits[9];
      snprintf(digits, sizeof digits, "%08u", count++ % 100000000);
      memcpy(request_number, digits, 8);
    }
    if (client->head_sent < request_length) {
      sent = client_put(client, request + client->head_sent, request_length - client->head_sent);
      if (sent > 0) client->head_sent += (size_t)sent;
    } else {
      size_t piece;
      const char *from = upload_at(client->body_sent, &piece);
      sent = client_put(client, from, piece);
      if (sent > 0) client->body_sent += (size_t)sent;
    }
    if (sent < 0) {
      if (errno == EAGAIN || errno == ENOTCONN) client->writable = false;
      else if (errno == ECONNREFUSED && stop_on_refusal) {
        stopping = 1;
        started--;
        client->busy = false;
        return client_close(client);
      } else {
        // An answer may have come before the connection broke: the body was refused.
        client->writable = false;
        return client_read(client);
      }
    }
  }
}

static void client_read(Client *client) {
  if (client->stage != READY) {
    client_advance(client);
    if (client->stage != READY) return;
  }
  while (client->fd >= 0 && client->stage == READY) {
    ssize_t count = client_get(client, buffer, slow ? slow : sizeof buffer);
    if (slow && count > 0) usleep(1000);
    if (count > 0) {
      if (!client->busy) return client_close(client);
      if (client_received(client, buffer, (size_t)count)) {
        client_finish(client, true);
        if (!slow && !client->ssl && count < (ssize_t)sizeof buffer) return;
      }
    } else if (count < 0 && errno == EAGAIN) {
      return;
    } else {
      if (!client->busy) return client_close(client);
      if (count < 0 && errno == ECONNREFUSED && stop_on_refusal) {
        stopping = 1;
        started--;
        client->busy = false;
        return client_close(client);
      }
      bool whole = client->head_done && client->framing == UNTIL_CLOSE && count == 0;
      client->closes = true;
      return client_finish(client, whole);
    }
  }
}

static int by_value(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

static uint32_t percentile(double p) {
  if (finished == 0) return 0;
  uint64_t index = (uint64_t)(p * (double)finished);
  return latencies[index >= finished ? finished - 1 : index];
}

static int load(int timeout) {
  clients = calloc((size_t)client_count, sizeof *clients);
  latencies = malloc(sizeof *latencies * (wanted + 1));
  for (int i = 0; i < client_count; i++) clients[i].fd = -1;
  begin = now_ns();
  uint64_t deadline = begin + (uint64_t)timeout * 1000000000u;
  if (rate == 0)
    for (int i = 0; i < client_count && started < wanted; i++) client_start(&clients[i], now_ns());
  struct epoll_event events[512];
  int next_idle = 0;
  signal(SIGTERM, stop);
  while (finished < wanted && !(stopping && finished == started)) {
    uint64_t now = now_ns();
    if (now > deadline) break;
    struct timespec wait = {1, 0};
    if (rate > 0 && started < wanted && !stopping) {
      bool all_busy = false;
      uint64_t due = 0;
      while (started < wanted && !all_busy) {
        due = begin + (uint64_t)((double)started * 1e9 / rate);
        if (due > now) break;
        all_busy = true;
        for (int i = 0; i < client_count && all_busy; i++) {
          Client *client = &clients[next_idle];
          next_idle = (next_idle + 1) % client_count;
          if (!client->busy) all_busy = false, client_start(client, due);
        }
      }
      if (!all_busy && due > now) wait = (struct timespec){0, (long)(due - now > 999999999 ? 999999999 : due - now)};
    }
    int count = epoll_pwait2(epoll, events, 512, &wait, NULL);
    for (int i = 0; i < count; i++) {
      Client *client = &clients[events[i].data.u64];
      if (client->fd < 0) continue;
      if (events[i].events & EPOLLOUT) {
        client->writable = true;
        client_advance(client);
      }
      if (events[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) client_read(client);
    }
  }
  double seconds = (double)(now_ns() - begin) / 1e9;
  qsort(latencies, finished, sizeof *latencies, by_value);
  printf("{\"requests\": %lu, \"finished\": %lu, \"good\": %lu, \"failed\": %lu, \"mismatched\": %lu, \"bytes\": %lu, "
         "\"seconds\": %.6f, \"p50_us\": %u, \"p99_us\": %u, \"p999_us\": %u, \"max_us\": %u, \"statuses\": {",
         wanted, finished, good, failed, mismatched, bytes, seconds, percentile(0.5), percentile(0.99), percentile(0.999),
         percentile(1));
  bool first = true;
  for (int i = 0; i < 600; i++)
    if (statuses[i]) printf("%s\"%d\": %lu", first ? "" : ", ", i, statuses[i]), first = false;
  printf("}, \"handshakes\": %lu, \"resumed\": %lu}\n", handshakes, resumed);
  fflush(stdout);
  while (holds && read(0, buffer, sizeof buffer) > 0) continue;
  return 0;
}

// ---- hold

static int hold(int count, const char *text, size_t length, bool answered, const char *trickle, int every) {
  int *fds = malloc(sizeof(int) * (size_t)count);
  char *state = calloc((size_t)count, 1);  // 0 connecting, 1 sent, 2 answered, 3 closed
  int *first_status = calloc((size_t)count, sizeof(int));
  size_t trickle_length = trickle ? strlen(trickle) : 0;
  int open = 0, ready = 0, closed = 0, opened = 0;
  bool announced = false, ended = false;
  for (int i = 0; i < count; i++) fds[i] = -1;
  watch(0, EPOLLIN, UINT64_MAX);
  struct epoll_event events[512];
  uint64_t next_trickle = 0;
  while (!ended) {
    while (opened < count && opened - ready - closed < 200) {
      if ((fds[opened] = open_connection(&target)) < 0) die("connect");
      watch(fds[opened], EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, (uint64_t)opened);
      opened++, open++;
    }
    if (!announced && ready + closed == count) {
      printf("held %d\n", ready);
      fflush(stdout);
      announced = true;
    }
    if (trickle && announced && now_ns() >= next_trickle) {
      next_trickle = now_ns() + (uint64_t)every * 1000000u;
      for (int i = 0; i < count; i++)
        if (state[i] < 3) (void)!send(fds[i], trickle, trickle_length, MSG_NOSIGNAL);
    }
    int number = epoll_wait(epoll, events, 512, trickle && announced ? every : 1000);
    for (int e = 0; e < number; e++) {
      if (events[e].data.u64 == UINT64_MAX) {
        if (read(0, buffer, sizeof buffer) <= 0) ended = true;
        continue;
      }
      int i = (int)events[e].data.u64;
      if (state[i] == 3) continue;
      if (state[i] == 0 && (events[e].events & EPOLLOUT) && !(events[e].events & (EPOLLERR | EPOLLHUP))) {
        if (send(fds[i], text, length, MSG_NOSIGNAL) != (ssize_t)length && length) die("send");
        state[i] = 1;
        if (!answered) ready++;
      }
      if (events[e].events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) {
        ssize_t got;
        while ((got = recv(fds[i], buffer, sizeof buffer, 0)) > 0) {
          if (!first_status[i] && got > 12) first_status[i] = atoi(buffer + 9);
          if (answered && state[i] == 1) state[i] = 2, ready++;
        }
        if (got == 0 || errno != EAGAIN) {
          if (state[i] == 0 || (state[i] == 1 && answered)) closed++;
          state[i] = 3;
          close(fds[i]);
          open--;
        }
      }
    }
  }
  int histogram[600] = {0};
  for (int i = 0; i < count; i++)
    if (first_status[i] > 0 && first_status[i] < 600) histogram[first_status[i]]++;
  printf("{\"open\": %d, \"closed\": %d, \"statuses\": {", open, count - open);
  bool first = true;
  for (int i = 0; i < 600; i++)
    if (histogram[i]) printf("%s\"%d\": %d", first ? "" : ", ", i, histogram[i]), first = false;
  printf("}}\n");
  return 0;
}

// ---- pipeline

static void read_answers(int fd, int count) {
  size_t have = 0, used = 0;
  while (count) {
    ssize_t got = recv(fd, buffer + have, sizeof buffer - have, 0);
    if (got <= 0) die("pipeline: the connection ended, or --depth is too large");
    have += (size_t)got;
    while (count) {
      char *end = memmem(buffer + used, have - used, "\r\n\r\n", 4);
      if (!end) break;
      char *field = memmem(buffer + used, (size_t)(end - buffer) - used, "ontent-Length:", 14);
      if (!field || strncmp(buffer + used + 9, "200", 3)) die("pipeline: an answer is not 200, or has no length");
      size_t length = (size_t)(end + 4 - buffer) - used + strtoull(field + 14, NULL, 10);
      if (used + length > have) break;
      used += length;
      count--;
    }
  }
  if (used != have) die("pipeline: more answers than requests");
}

static int pipeline(int depth, int timeout) {
  int *fds = calloc((size_t)client_count, sizeof *fds);
  char *batch = malloc(request_length * (size_t)depth);
  for (int i = 0; i < depth; i++) memcpy(batch + request_length * (size_t)i, request, request_length);
  struct timeval limit = {.tv_sec = timeout};
  for (int i = 0; i < client_count; i++) {
    if ((fds[i] = open_connection(&target)) < 0) die("connect");
    fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) & ~O_NONBLOCK);
    setsockopt(fds[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  uint64_t rounds = wanted / (uint64_t)(client_count * depth);
  if (!rounds) die("pipeline: fewer --requests than --clients times --depth");
  begin = now_ns();
  for (uint64_t round = 0; round <= rounds; round++)
    for (int i = 0; i < client_count; i++) {
      if (round) read_answers(fds[i], depth);
      if (round < rounds && send(fds[i], batch, request_length * (size_t)depth, MSG_NOSIGNAL) < 0) die("send");
    }
  uint64_t number = rounds * (uint64_t)(client_count * depth);
  printf("{\"requests\": %lu, \"good\": %lu, \"seconds\": %.6f}\n", number, number, (double)(now_ns() - begin) / 1e9);
  return 0;
}

// ---- serve

typedef struct {
  char head[8192];
  size_t length;
  uint64_t skip;
  uint64_t owed;  // bytes of answers that did not fit into the socket yet
} Served;

// Sends the owed bytes, and the rest when there is room again. False: the client is gone.
static bool pay(int fd, Served *it, const char *answer, size_t size) {
  while (it->owed) {
    size_t left = it->owed % size ? it->owed % size : size;
    ssize_t sent = send(fd, answer + size - left, left, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0) break;
    it->owed -= (uint64_t)sent;
  }
  struct epoll_event event = {.events = EPOLLIN | (it->owed ? EPOLLOUT : 0), .data.u64 = (uint64_t)fd};
  epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
  return true;
}

static int serve(int port, size_t size, const char *headers) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t own_length = sizeof own;
  if (bind(listener, (struct sockaddr *)&own, sizeof own) || listen(listener, 4096)) die("listen");
  getsockname(listener, (struct sockaddr *)&own, &own_length);
  printf("%d\n", ntohs(own.sin_port));
  fflush(stdout);
  char *answer = malloc(size + strlen(headers) + 256);
  size_t answer_length = (size_t)sprintf(
      answer, "HTTP/1.1 200 OK\r\n%sContent-Type: application/octet-stream\r\nContent-Length: %zu\r\n\r\n", headers, size);
  for (size_t i = 0; i < size; i++) answer[answer_length++] = (char)pattern[i % PERIOD];
  Served **served = calloc(1 << 16, sizeof *served);
  watch(listener, EPOLLIN, (uint64_t)listener);
  watch(0, EPOLLIN, 0);
  struct epoll_event events[512];
  while (true) {
    int number = epoll_wait(epoll, events, 512, -1);
    for (int e = 0; e < number; e++) {
      int fd = (int)events[e].data.u64;
      if (fd == 0) {
        if (read(0, buffer, sizeof buffer) <= 0) return 0;
        continue;
      }
      if (fd == listener) {
        int accepted;
        while ((accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
          setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
          if (accepted >= 1 << 16) die("too many connections");
          served[accepted] = calloc(1, sizeof(Served));
          watch(accepted, EPOLLIN, (uint64_t)accepted);
        }
        continue;
      }
      Served *it = served[fd];
      ssize_t got = recv(fd, buffer, sizeof buffer, 0);
      bool gone = got == 0 || (got < 0 && errno != EAGAIN);
      if (!gone && it->owed && (events[e].events & EPOLLOUT) && !pay(fd, it, answer, answer_length)) gone = true;
      for (char *at = buffer, *end = buffer + (got > 0 ? got : 0); at < end && !gone;) {
        if (it->skip) {
          size_t piece = (size_t)(end - at) < it->skip ? (size_t)(end - at) : it->skip;
          it->skip -= piece;
          at += piece;
          if (it->skip) break;
        } else {
          if (it->length == sizeof it->head - 1) gone = true;
          it->head[it->length++] = *at++;
          if (it->length < 4 || memcmp(it->head + it->length - 4, "\r\n\r\n", 4)) continue;
          it->head[it->length] = 0;
          char *field = strcasestr(it->head, "\r\ncontent-length:");
          it->length = 0;
          if (field && (it->skip = strtoull(field + 17, NULL, 10))) continue;
        }
        // In one call if it fits, which it nearly always does.
        ssize_t sent = it->owed ? 0 : send(fd, answer, answer_length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) gone = true;
        if (sent != (ssize_t)answer_length) {
          it->owed += answer_length - (size_t)(sent > 0 ? sent : 0);
          if (!gone && !pay(fd, it, answer, answer_length)) gone = true;
        }
      }
      if (gone) {
        free(served[fd]);
        served[fd] = NULL;
        close(fd);
      }
    }
  }
}

int main(int count, char **arguments) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  for (int i = 0; i < PERIOD + BUFFER; i++) pattern[i] = (uint8_t)((((uint64_t)(i % PERIOD)) * 2654435761u) >> 13);
  epoll = epoll_create1(EPOLL_CLOEXEC);
  if (count < 2) return 64;
  const char *mode = arguments[1], *url = "http://localhost/", *text = "", *trickle = NULL;
  char headers[8192] = "";
  int connections = 1, every = 1000, timeout = 120, port = 0, depth = 0;
  size_t size = 3, signed_chunks = 0;
  bool answered = false, connects = false;
  const char *ca = NULL, *behind = NULL;
  client_count = 1;
  for (int i = 2; i < count; i++) {
    const char *option = arguments[i];
    if (!strcmp(option, "--answered")) { answered = true; continue; }
    if (!strcmp(option, "--verify")) { verify = true; continue; }
    if (!strcmp(option, "--stop-on-refusal")) { stop_on_refusal = true; continue; }
    if (!strcmp(option, "--connect")) { connects = true; continue; }
    if (!strcmp(option, "--resume")) { resumes = true; continue; }
    if (!strcmp(option, "--hold")) { holds = true; continue; }
    if (!strcmp(option, "--names")) { invents = true; continue; }
    if (!strcmp(option, "--distinct")) { distinct = true; continue; }
    if (i + 1 == count) return 64;
    const char *value = arguments[++i];
    if (!strcmp(option, "--to")) target = address(value);
    else if (!strcmp(option, "--url")) url = value;
    else if (!strcmp(option, "--clients")) client_count = atoi(value);
    else if (!strcmp(option, "--requests")) wanted = strtoull(value, NULL, 10);
    else if (!strcmp(option, "--rate")) rate = atof(value);
    else if (!strcmp(option, "--new-connections")) fin_each = !strcmp(value, "fin"), rst_each = !strcmp(value, "rst");
    else if (!strcmp(option, "--upload")) upload = strtoull(value, NULL, 10);
    else if (!strcmp(option, "--signed-chunks")) signed_chunks = strtoull(value, NULL, 10);
    else if (!strcmp(option, "--header")) strcat(strcat(headers, value), "\r\n");
    else if (!strcmp(option, "--slow")) slow = strtoull(value, NULL, 10);
    else if (!strcmp(option, "--ca")) ca = value;
    else if (!strcmp(option, "--behind")) behind = value;
    else if (!strcmp(option, "--timeout")) timeout = atoi(value);
    else if (!strcmp(option, "--connections")) connections = atoi(value);
    else if (!strcmp(option, "--send")) text = unescape(value);
    else if (!strcmp(option, "--trickle")) trickle = unescape(value);
    else if (!strcmp(option, "--every")) every = atoi(value);
    else if (!strcmp(option, "--size")) size = strtoull(value, NULL, 10);
    else if (!strcmp(option, "--port")) port = atoi(value);
    else if (!strcmp(option, "--depth")) depth = atoi(value);
    else return 64;
  }
  if (!strcmp(mode, "serve")) return serve(port, size, headers);
  if (!strcmp(mode, "hold")) {
    size_t length = strlen(text);
    if (behind) {
      char *all = malloc(length + BUFFER);
      memcpy(all, text, length);
      FILE *file = fopen(behind, "rb");
      if (!file) die(behind);
      length += fread(all + length, 1, BUFFER, file);
      text = all;
    }
    return hold(connections, text, length, answered, trickle, every);
  }
  bool pipelines = !strcmp(mode, "pipeline");
  if (strcmp(mode, "load") && !pipelines) return 64;
  if (pipelines && (depth < 1 || client_count < 1 || ca)) return 64;
  const char *authority = strstr(url, "://");
  if (!authority) return 64;
  authority += 3;
  int authority_length = (int)strcspn(authority, "/?");
  if (ca) {
    signal(SIGPIPE, SIG_IGN);
    context = SSL_CTX_new(TLS_client_method());
    if (!SSL_CTX_load_verify_locations(context, ca, NULL)) die(ca);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, keep_session);
    server_name = strndup(authority, strcspn(authority, ":/?"));
    const char *port = (int)strlen(server_name) == authority_length ? ":443" : "";
    if (connects && asprintf(&connect_head, "CONNECT %.*s%s HTTP/1.1\r\nHost: %.*s%s\r\n\r\n", authority_length, authority, port,
                             authority_length, authority, port) < 0) return 1;
    url = authority + authority_length;
  }
  char length[256] = "";
  if (signed_chunks) {
    sprintf(length, "X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD\r\nX-Amz-Decoded-Content-Length: %lu\r\n", upload);
    frame_upload(signed_chunks);
  }
  if (upload) sprintf(length + strlen(length), "Content-Length: %lu\r\n", upload);
  request_length = (size_t)asprintf(&request, "%s %s HTTP/1.1\r\nHost: %.*s\r\nUser-Agent: loadgen\r\nAccept: */*\r\n%s%s\r\n",
                                    upload ? "POST" : "GET", url, authority_length, authority, length, headers);
  if (distinct) {
    request_number = strstr(request, "?00000000");
    if (!request_number) die("--distinct: a URL with ?00000000 expected");
    request_number++;
  }
  return pipelines ? pipeline(depth, timeout) : load(timeout);
}
