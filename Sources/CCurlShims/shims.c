#include "CCurlShims.h"
#include "libcurl.h"

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) { return ccurl.easy_setopt(easy, option, value); }
CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value) { return ccurl.easy_setopt(easy, option, value); }
CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) { return ccurl.easy_setopt(easy, option, value); }
CURLcode ccurl_set_object(CURL *easy, CURLoption option, void *value) { return ccurl.easy_setopt(easy, option, value); }
CURLcode ccurl_set_list(CURL *easy, struct curl_slist *fields) { return ccurl.easy_setopt(easy, CURLOPT_HTTPHEADER, fields); }
CURLcode ccurl_set_write(CURL *easy, CURLoption option, curl_write_callback callback) {
  return ccurl.easy_setopt(easy, option, callback);
}
CURLcode ccurl_set_prerequest(CURL *easy, curl_prereq_callback callback) {
  return ccurl.easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}
CURLcode ccurl_set_open_socket(CURL *easy, curl_opensocket_callback callback) {
  return ccurl.easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}
CURLcode ccurl_set_context(CURL *easy, curl_ssl_ctx_callback callback) {
  return ccurl.easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
}

long ccurl_status(CURL *easy) {
  long value = 0;
  ccurl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &value);
  return value;
}

curl_off_t ccurl_retry_after(CURL *easy) {
  curl_off_t value = 0;
  ccurl.easy_getinfo(easy, CURLINFO_RETRY_AFTER, &value);
  return value;
}

const char *ccurl_only_field(CURL *easy, const char *name) {
  struct curl_header *field = NULL;
  if (ccurl.easy_header(easy, name, 0, CURLH_HEADER, -1, &field) != CURLHE_OK || field->amount != 1) return NULL;
  return field->value;
}

void *ccurl_private(CURL *easy) {
  char *value = NULL;
  ccurl.easy_getinfo(easy, CURLINFO_PRIVATE, &value);
  return value;
}

void *ccurl_ssl(CURL *easy) {
  struct curl_tlssessioninfo *info = NULL;
  if (ccurl.easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info) return NULL;
  if (info->backend != CURLSSLBACKEND_OPENSSL) return NULL;
  return info->internals;
}

CURLMcode ccurl_multi_set_socket(CURLM *multi, curl_socket_callback callback, void *object) {
  CURLMcode code = ccurl.multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
  return code ? code : ccurl.multi_setopt(multi, CURLMOPT_SOCKETDATA, object);
}

CURLMcode ccurl_multi_set_timer(CURLM *multi, curl_multi_timer_callback callback, void *object) {
  CURLMcode code = ccurl.multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
  return code ? code : ccurl.multi_setopt(multi, CURLMOPT_TIMERDATA, object);
}

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) { return ccurl.multi_setopt(multi, option, value); }

CURL *ccurl_multi_ended(CURLM *multi, CURLcode *result) {
  int left = 0;
  struct CURLMsg *message;
  while ((message = ccurl.multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

struct curl_slist *ccurl_list_append(struct curl_slist *list, const char *text) { return ccurl.slist_append(list, text); }
void ccurl_list_free(struct curl_slist *list) { ccurl.slist_free_all(list); }

CURL *ccurl_easy_init(void) { return ccurl.easy_init(); }
void ccurl_easy_cleanup(CURL *easy) { ccurl.easy_cleanup(easy); }
const char *ccurl_easy_strerror(CURLcode code) { return ccurl.easy_strerror(code); }

CURLM *ccurl_multi_init(void) { return ccurl.multi_init(); }
void ccurl_multi_cleanup(CURLM *multi) { ccurl.multi_cleanup(multi); }
CURLMcode ccurl_multi_add(CURLM *multi, CURL *easy) { return ccurl.multi_add_handle(multi, easy); }
void ccurl_multi_remove(CURLM *multi, CURL *easy) { ccurl.multi_remove_handle(multi, easy); }
void ccurl_multi_act(CURLM *multi, curl_socket_t socket, int events) {
  int running = 0;
  ccurl.multi_socket_action(multi, socket, events, &running);
}
