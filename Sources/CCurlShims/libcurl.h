// The functions of libcurl that are used. The program is not linked with it: it and the twenty libraries that it needs in turn would take
// as long to load as all the rest, and most processes never fetch anything.
#pragma once
#include <curl/curl.h>

#define CCURL_FUNCTIONS(EACH) \
  EACH(global_init) \
  EACH(version_info) \
  EACH(slist_append) \
  EACH(slist_free_all) \
  EACH(easy_init) \
  EACH(easy_cleanup) \
  EACH(easy_setopt) \
  EACH(easy_getinfo) \
  EACH(easy_header) \
  EACH(easy_strerror) \
  EACH(multi_init) \
  EACH(multi_cleanup) \
  EACH(multi_setopt) \
  EACH(multi_add_handle) \
  EACH(multi_remove_handle) \
  EACH(multi_socket_action) \
  EACH(multi_info_read)

struct ccurl_functions {
#define CCURL_MEMBER(name) __typeof__(&curl_##name) name;
  CCURL_FUNCTIONS(CCURL_MEMBER)
#undef CCURL_MEMBER
};

extern struct ccurl_functions ccurl;
