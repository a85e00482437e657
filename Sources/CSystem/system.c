#include "CSystem.h"

int csys_accept(int listener, struct sockaddr_storage *address, socklen_t *length) {
  return accept4(listener, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}
