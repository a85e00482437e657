#include "CCurlShims.h"
#include "libcurl.h"
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct ccurl_functions ccurl;

// Its ABI is the same since 2006 (libcurl's docs/libcurl/ABI.md).
static const char file[] = "libcurl.so.4";

const char *ccurl_load(void) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) return dlerror();
#define FIND(name) \
  if (!(*(void **)&ccurl.name = dlsym(library, "curl_" #name))) return dlerror();
  CCURL_FUNCTIONS(FIND)
#undef FIND
  if (ccurl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return "libcurl cannot be initialized";
  // Its SSL_CTX is given to our OpenSSL.
  const char *tls = ccurl.version_info(CURLVERSION_NOW)->ssl_version;
  return tls && !strncmp(tls, "OpenSSL/3", 9) ? NULL : "libcurl is not one with OpenSSL 3";
}
