// Macros and functions with varargs of OpenSSL, which Swift cannot call. Also the frequent calls together with their error
// handling, so that nothing happens between clearing the thread's error queue, the call, and reading the queue.
#pragma once
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// Results of read, write and handshake that are not a count of bytes. TLSIO in Swift has the same values.
enum {
  COSSL_END_OF_STREAM = 0,
  COSSL_WANT_READ = -1,
  COSSL_WANT_WRITE = -2,
  COSSL_FAILED = -3,
  COSSL_TRUNCATED = -4,
  // The ClientHello callback waits for what the caller has to bring.
  COSSL_WANT_IDENTITY = -5,
};

// An error that is left in the thread's queue would be taken for the next call's. Clearing an empty queue is dear: it frees each of
// its slots.
static inline void cossl_clear_errors(void) {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

// `result` <= 0 of an SSL call just made on this thread. After COSSL_FAILED the caller drains the error queue; `system_error`
// is errno, or 0 if OpenSSL itself failed.
static inline long cossl_outcome(SSL *ssl, int result, int *system_error) {
  int saved = errno;
  *system_error = 0;
  switch (SSL_get_error(ssl, result)) {
  case SSL_ERROR_ZERO_RETURN:
    return COSSL_END_OF_STREAM;
  case SSL_ERROR_WANT_READ:
    return COSSL_WANT_READ;
  case SSL_ERROR_WANT_WRITE:
    return COSSL_WANT_WRITE;
  case SSL_ERROR_WANT_CLIENT_HELLO_CB:
    return COSSL_WANT_IDENTITY;
  case SSL_ERROR_SYSCALL:
    *system_error = saved;
    return saved == 0 ? COSSL_TRUNCATED : COSSL_FAILED;
  default:
    // OpenSSL 3 has a separate error for an end of the transport without close_notify.
    return ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING ? COSSL_TRUNCATED : COSSL_FAILED;
  }
}

// What an SSL lies over, and its known state: a descriptor, or another SSL (TLS in TLS). All read and write system calls are made
// here, so only this code knows whether the kernel has more.
typedef struct cossl_socket {
  int descriptor;
  // Not NULL: bytes come and go through this SSL, which lies over `below_state`; the descriptor is not used.
  SSL *below;
  struct cossl_socket *below_state;
  // Bytes that were received before there was an SSL; they are read first.
  unsigned char *prefix;
  size_t prefix_count;
  size_t prefix_read;
  // The caller reports every readiness event (cossl_socket_note), as edge-triggered epoll requires. Only then `dry` counts.
  unsigned char is_edge_triggered;
  // The last receive got less than it asked for, or EAGAIN, and there was no event since: the kernel has nothing.
  unsigned char is_dry;
  // A short receive no longer proves that the socket is empty: an end follows, or it may have stopped at the mark of TCP urgent
  // data.
  unsigned char reads_to_the_end;
  // A receive found nothing since this was cleared.
  unsigned char found_nothing;
  // Make no system call: read only what OpenSSL already holds.
  unsigned char is_held;
  // Another record follows the one that is being written.
  unsigned char has_more;
  // recv has returned 0.
  unsigned char at_end;
} cossl_socket;

// Writes one record; callers go on with the rest at once. If there is one, the kernel hears that it follows: it then sends full segments,
// and the peer wakes once for several records.
static inline long cossl_write(SSL *ssl, cossl_socket *socket, const void *bytes, size_t count, int *system_error) {
  size_t done = 0;
  cossl_clear_errors();
  errno = 0;
  socket->has_more = count > SSL3_RT_MAX_PLAIN_LENGTH;
  // SSL_MODE_ENABLE_PARTIAL_WRITE does not hold for AES-CBC of TLS 1.2: of 64 KiB it writes the last record, too, as if more followed.
  if (socket->has_more) count = SSL3_RT_MAX_PLAIN_LENGTH;
  int result = SSL_write_ex(ssl, bytes, count, &done);
  socket->has_more = 0;
  return result > 0 ? (long)done : cossl_outcome(ssl, result, system_error);
}

// Without AUTO_RETRY a call also returns WANT_READ after messages of TLS itself (session tickets, key updates). WANT_READ must
// mean that the socket is empty, so the call is repeated. A peer may send nothing but such messages: after this many times the
// connection has failed.
enum { COSSL_MESSAGES_IN_A_ROW = 16 };

static inline long cossl_receive(SSL *ssl, cossl_socket *socket, void *bytes, size_t count, int peeks, int *system_error) {
  for (int turn = 0; turn < COSSL_MESSAGES_IN_A_ROW; turn++) {
    size_t done = 0;
    cossl_clear_errors();
    errno = 0;
    socket->found_nothing = 0;
    int result = peeks ? SSL_peek_ex(ssl, bytes, count, &done) : SSL_read_ex(ssl, bytes, count, &done);
    if (result > 0) return (long)done;
    long outcome = cossl_outcome(ssl, result, system_error);
    if (outcome != COSSL_WANT_READ || socket->found_nothing) return outcome;
  }
  *system_error = 0;
  return COSSL_FAILED;
}

static inline long cossl_read(SSL *ssl, cossl_socket *socket, void *bytes, size_t count, int *system_error) {
  return cossl_receive(ssl, socket, bytes, count, 0, system_error);
}

static inline long cossl_peek(SSL *ssl, cossl_socket *socket, void *bytes, size_t count, int *system_error) {
  return cossl_receive(ssl, socket, bytes, count, 1, system_error);
}

// A BIO over the descriptor, which it does not own. `state` is the BIO's and lives as long as it; NULL on failure.
BIO *cossl_socket_bio(int descriptor, cossl_socket **state);

// A BIO over another SSL, which it does not own and which must live longer.
BIO *cossl_stacked_bio(SSL *below, cossl_socket *below_state, cossl_socket **state);

// Copies bytes that are to be read before all others. 0: out of memory.
int cossl_socket_set_prefix(cossl_socket *socket, const void *bytes, size_t count);

// Keys of session tickets: one that new tickets are made with, and one that older ones are still opened with.
typedef struct {
  unsigned char name[16];
  unsigned char cipher[32];
  unsigned char mac[32];
} cossl_ticket_key;
typedef struct {
  cossl_ticket_key current;
  cossl_ticket_key previous;
  unsigned char has_previous;
} cossl_ticket_keys;

// `keys` must live as long as the context, and may be changed between handshakes. 0: failure.
int cossl_context_set_ticket_keys(SSL_CTX *context, cossl_ticket_keys *keys);

// What the handshakes have that apps begin: forward secrecy and AEAD only, no early data, sessions in tickets alone.
static inline int cossl_context_accepts(SSL_CTX *context) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_early_data(context, 0);
  return SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
}

// 1 = done.
static inline long cossl_handshake(SSL *ssl, int *system_error) {
  cossl_clear_errors();
  errno = 0;
  int result = SSL_do_handshake(ssl);
  if (result == 1) return 1;
  long outcome = cossl_outcome(ssl, result, system_error);
  return outcome == COSSL_END_OF_STREAM ? COSSL_TRUNCATED : outcome;
}

// TLS 1.3 with AES-128 first, which everybody must implement (RFC 8446 section 9.1), as browsers, Go and BoringSSL order it: it has
// ten rounds for fourteen, and processors have instructions for the SHA-256 of its handshake. A list of the machine's openssl.cnf is kept,
// unless it equals OpenSSL's own: nothing tells these two apart.
static inline void cossl_context_prefer_aes_128(SSL_CTX *context) {
  static const uint32_t defaults[] = {TLS1_3_CK_AES_256_GCM_SHA384, TLS1_3_CK_CHACHA20_POLY1305_SHA256, TLS1_3_CK_AES_128_GCM_SHA256};
  const STACK_OF(SSL_CIPHER) *suites = SSL_CTX_get_ciphers(context);
  for (int i = 0; i < 3; i++) {
    const SSL_CIPHER *suite = sk_SSL_CIPHER_value(suites, i);
    if (!suite || SSL_CIPHER_get_id(suite) != defaults[i]) return;
  }
  const SSL_CIPHER *fourth = sk_SSL_CIPHER_value(suites, 3);
  if (fourth && SSL_CIPHER_get_protocol_id(fourth) >> 8 == 0x13) return;  // of TLS 1.3 (RFC 8446 appendix B.4)
  SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
}

// Options of every context, on both sides. AUTO_RETRY is off: with it one call reads on as long as the peer sends messages of
// TLS itself (cossl_receive).
static inline void cossl_context_basics(SSL_CTX *context, int security_level) {
  SSL_CTX_set_security_level(context, security_level);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_clear_options(context, SSL_OP_LEGACY_SERVER_CONNECT | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  cossl_context_prefer_aes_128(context);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, 65536);
}

// Client sessions go only to this program's callback, as OpenSSL's cache does not know verdicts.
static inline void cossl_context_external_sessions(SSL_CTX *context) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
}
static inline void cossl_context_no_sessions(SSL_CTX *context) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}
static inline void cossl_context_no_tickets(SSL_CTX *context) { SSL_CTX_set_options(context, SSL_OP_NO_TICKET); }
static inline int cossl_context_set_versions(SSL_CTX *context, int minimum, int maximum) {
  return SSL_CTX_set_min_proto_version(context, minimum) == 1 && SSL_CTX_set_max_proto_version(context, maximum) == 1;
}
// Options that a context of another library must have as well; it may be stricter.
static inline void cossl_context_restrict(SSL_CTX *context, int minimum) {
  if (SSL_CTX_get_security_level(context) < 2) SSL_CTX_set_security_level(context, 2);
  long now = SSL_CTX_get_min_proto_version(context);
  if (now == 0 || now < minimum) SSL_CTX_set_min_proto_version(context, minimum);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}
static inline void cossl_context_request_staple(SSL_CTX *context) {
  SSL_CTX_set_tlsext_status_type(context, TLSEXT_STATUSTYPE_ocsp);
}
static inline void cossl_context_set_staple_callback(SSL_CTX *context, int (*callback)(SSL *, void *)) {
  SSL_CTX_set_tlsext_status_cb(context, callback);
}
static inline int cossl_set_server_name(SSL *ssl, const char *name) { return (int)SSL_set_tlsext_host_name(ssl, name); }
static inline long cossl_staple(SSL *ssl, const unsigned char **bytes) {
  return SSL_get_tlsext_status_ocsp_resp(ssl, bytes);
}
// Takes ownership of `bytes`, which OPENSSL_malloc allocated.
static inline void cossl_set_staple(SSL *ssl, unsigned char *bytes, long count) {
  SSL_set_tlsext_status_ocsp_resp(ssl, bytes, count);
}
static inline void *cossl_malloc(size_t count) { return OPENSSL_malloc(count); }
static inline void cossl_free(void *pointer) { OPENSSL_free(pointer); }
static inline int cossl_print_name(BIO *out, const X509_NAME *name) {
  return X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253);
}
static inline int cossl_new_ex_index(int class_index, CRYPTO_EX_free *release) {
  return CRYPTO_get_ex_new_index(class_index, 0, NULL, NULL, NULL, release);
}
static inline int cossl_gcm_set_tag(EVP_CIPHER_CTX *context, int count, void *tag) {
  return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, count, tag);
}
static inline int cossl_gcm_get_tag(EVP_CIPHER_CTX *context, int count, void *tag) {
  return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, count, tag);
}
