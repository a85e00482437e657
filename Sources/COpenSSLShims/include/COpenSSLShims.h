// What of OpenSSL is a macro or takes varargs, so that Swift cannot call it.
#pragma once
#include <openssl/ssl.h>
