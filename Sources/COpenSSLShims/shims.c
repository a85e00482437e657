#include "COpenSSLShims.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// What the SSL below has decrypted. Its error queue is the thread's, as that of the SSL above is: a failure below is one above.
static int read_below(BIO *bio, cossl_socket *state, char *bytes, size_t count, size_t *done) {
  int system_error = 0;
  unsigned char was_held = state->below_state->is_held;
  state->below_state->is_held |= state->is_held;
  long result = cossl_read(state->below, state->below_state, bytes, count, &system_error);
  state->below_state->is_held = was_held;
  if (result > 0) {
    *done = (size_t)result;
    return 1;
  }
  switch (result) {
  case COSSL_WANT_READ:
    if (!state->is_held) state->is_dry = 1;
    state->found_nothing = 1;
    BIO_set_retry_read(bio);
    break;
  case COSSL_WANT_WRITE:
    state->found_nothing = 1;
    BIO_set_retry_write(bio);
    break;
  case COSSL_END_OF_STREAM:
  case COSSL_TRUNCATED:
    ERR_clear_error();
    errno = 0;
    state->at_end = 1;
    break;
  default:
    errno = system_error;
  }
  return 0;
}

static int write_below(BIO *bio, cossl_socket *state, const char *bytes, size_t count, size_t *done) {
  int system_error = 0;
  long result = cossl_write(state->below, state->below_state, bytes, count, &system_error);
  if (result > 0) {
    *done = (size_t)result;
    return 1;
  }
  if (result == COSSL_WANT_WRITE) BIO_set_retry_write(bio);
  else if (result == COSSL_WANT_READ) BIO_set_retry_read(bio);
  else errno = system_error;
  return 0;
}

static int socket_read(BIO *bio, char *bytes, size_t count, size_t *done) {
  cossl_socket *state = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  *done = 0;
  if (state->prefix) {
    size_t left = state->prefix_count - state->prefix_read;
    *done = left < count ? left : count;
    memcpy(bytes, state->prefix + state->prefix_read, *done);
    state->prefix_read += *done;
    if (state->prefix_read == state->prefix_count) {
      free(state->prefix);
      state->prefix = NULL;
    }
    return 1;
  }
  if (state->below) {
    if (state->is_dry && state->is_edge_triggered) {
      state->found_nothing = 1;
      BIO_set_retry_read(bio);
      return 0;
    }
    return read_below(bio, state, bytes, count, done);
  }
  if (state->is_held || (state->is_dry && state->is_edge_triggered)) {
    state->found_nothing = 1;
    BIO_set_retry_read(bio);
    return 0;
  }
  ssize_t result;
  do {
    result = recv(state->descriptor, bytes, count, 0);
  } while (result < 0 && errno == EINTR);
  if (result > 0) {
    *done = (size_t)result;
    state->is_dry = (size_t)result < count && !state->reads_to_the_end;
    return 1;
  }
  if (result == 0) {
    state->at_end = 1;
  } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
    state->is_dry = 1;
    state->found_nothing = 1;
    BIO_set_retry_read(bio);
  }
  return 0;
}

static int socket_write(BIO *bio, const char *bytes, size_t count, size_t *done) {
  cossl_socket *state = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  *done = 0;
  if (state->below) return write_below(bio, state, bytes, count, done);
  ssize_t result;
  do {
    result = send(state->descriptor, bytes, count, state->has_more ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL);
  } while (result < 0 && errno == EINTR);
  if (result >= 0) {
    *done = (size_t)result;
    return 1;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK) BIO_set_retry_write(bio);
  return 0;
}

static long socket_control(BIO *bio, int command, long number, void *pointer) {
  (void)number;
  (void)pointer;
  switch (command) {
  case BIO_CTRL_FLUSH:
  case BIO_CTRL_DUP:
    return 1;
  case BIO_CTRL_EOF:
    // With this OpenSSL distinguishes an end of the transport from an error (SSL_R_UNEXPECTED_EOF_WHILE_READING).
    return ((cossl_socket *)BIO_get_data(bio))->at_end;
  default:
    return 0;
  }
}

static int socket_destroy(BIO *bio) {
  cossl_socket *state = BIO_get_data(bio);
  if (state) free(state->prefix);
  free(state);
  BIO_set_data(bio, NULL);
  return 1;
}

static BIO_METHOD *method;
static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;

static void make_method(void) {
  BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, "socket");
  if (!made) return;
  BIO_meth_set_read_ex(made, socket_read);
  BIO_meth_set_write_ex(made, socket_write);
  BIO_meth_set_ctrl(made, socket_control);
  BIO_meth_set_destroy(made, socket_destroy);
  method = made;
}

BIO *cossl_socket_bio(int descriptor, cossl_socket **state) {
  if (!CRYPTO_THREAD_run_once(&once, make_method) || !method) return NULL;
  cossl_socket *own = calloc(1, sizeof *own);
  if (!own) return NULL;
  BIO *bio = BIO_new(method);
  if (!bio) {
    free(own);
    return NULL;
  }
  own->descriptor = descriptor;
  BIO_set_data(bio, own);
  BIO_set_init(bio, 1);
  *state = own;
  return bio;
}

BIO *cossl_stacked_bio(SSL *below, cossl_socket *below_state, cossl_socket **state) {
  BIO *bio = cossl_socket_bio(-1, state);
  if (!bio) return NULL;
  (*state)->below = below;
  (*state)->below_state = below_state;
  return bio;
}

int cossl_socket_set_prefix(cossl_socket *socket, const void *bytes, size_t count) {
  if (count == 0) return 1;
  unsigned char *copy = malloc(count);
  if (!copy) return 0;
  memcpy(copy, bytes, count);
  free(socket->prefix);
  socket->prefix = copy;
  socket->prefix_count = count;
  socket->prefix_read = 0;
  return 1;
}

static int ticket_slot = -1;
static CRYPTO_ONCE ticket_once = CRYPTO_ONCE_STATIC_INIT;

static void make_ticket_slot(void) { ticket_slot = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL); }

// RFC 5077 section 4: AES-256-CBC, then HMAC-SHA-256. 1: as it is; 2: the client is to get a new ticket; 0: no ticket of ours.
static int ticket_key(
    SSL *ssl, unsigned char name[16], unsigned char iv[EVP_MAX_IV_LENGTH], EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac, int makes) {
  cossl_ticket_keys *keys = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), ticket_slot);
  if (!keys) return makes ? -1 : 0;
  cossl_ticket_key *key = &keys->current;
  int answer = 1;
  if (makes) {
    memcpy(name, key->name, sizeof key->name);
    if (RAND_bytes(iv, EVP_MAX_IV_LENGTH) != 1) return -1;
  } else {
    if (CRYPTO_memcmp(name, key->name, sizeof key->name) != 0) {
      key = &keys->previous;
      if (!keys->has_previous || CRYPTO_memcmp(name, key->name, sizeof key->name) != 0) return 0;
      answer = 2;
    }
    // A client uses a ticket of TLS 1.3 once.
    if (SSL_version(ssl) >= TLS1_3_VERSION) answer = 2;
  }
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->mac, sizeof key->mac),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "SHA256", 0),
      OSSL_PARAM_construct_end(),
  };
  if (EVP_MAC_CTX_set_params(mac, parameters) != 1) return -1;
  int ready = makes ? EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key->cipher, iv)
                    : EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key->cipher, iv);
  return ready == 1 ? answer : -1;
}

int cossl_context_set_ticket_keys(SSL_CTX *context, cossl_ticket_keys *keys) {
  return CRYPTO_THREAD_run_once(&ticket_once, make_ticket_slot) && ticket_slot >= 0 &&
         SSL_CTX_set_ex_data(context, ticket_slot, keys) == 1 && SSL_CTX_set_tlsext_ticket_key_evp_cb(context, ticket_key) == 1;
}
