#include "COpenSSLShims.h"

#include <stdlib.h>
#include <sys/socket.h>

static int socket_read(BIO *bio, char *bytes, size_t count, size_t *done) {
  cossl_socket *state = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  *done = 0;
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
  ssize_t result;
  do {
    result = send(state->descriptor, bytes, count, MSG_NOSIGNAL);
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
  free(BIO_get_data(bio));
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
