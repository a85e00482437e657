#include "CCurlShims.h"
#include "libcurl.h"
#include <dlfcn.h>
#include <stddef.h>

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
  return ccurl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? NULL : "libcurl cannot be initialized";
}
