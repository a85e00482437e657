#include "CCurlShims.h"

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) { return curl_easy_setopt(easy, option, value); }
CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value) { return curl_easy_setopt(easy, option, value); }
CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) { return curl_easy_setopt(easy, option, value); }
CURLcode ccurl_set_object(CURL *easy, CURLoption option, void *value) { return curl_easy_setopt(easy, option, value); }
CURLcode ccurl_set_list(CURL *easy, struct curl_slist *fields) { return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields); }
CURLcode ccurl_set_write(CURL *easy, CURLoption option, curl_write_callback callback) {
  return curl_easy_setopt(easy, option, callback);
}
CURLcode ccurl_set_prerequest(CURL *easy, curl_prereq_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}
CURLcode ccurl_set_open_socket(CURL *easy, curl_opensocket_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}
CURLcode ccurl_set_context(CURL *easy, curl_ssl_ctx_callback callback) {
  return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callback);
}

long ccurl_status(CURL *easy) {
  long value = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &value);
  return value;
}

curl_off_t ccurl_retry_after(CURL *easy) {
  curl_off_t value = 0;
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &value);
  return value;
}

const char *ccurl_only_field(CURL *easy, const char *name) {
  struct curl_header *field = NULL;
  if (curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &field) != CURLHE_OK || field->amount != 1) return NULL;
  return field->value;
}

void *ccurl_private(CURL *easy) {
  char *value = NULL;
  curl_easy_getinfo(easy, CURLINFO_PRIVATE, &value);
  return value;
}

void *ccurl_ssl(CURL *easy) {
  struct curl_tlssessioninfo *info = NULL;
  if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info) return NULL;
  return info->internals;
}

CURLMcode ccurl_multi_set_socket(CURLM *multi, curl_socket_callback callback, void *object) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
  return code ? code : curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, object);
}

CURLMcode ccurl_multi_set_timer(CURLM *multi, curl_multi_timer_callback callback, void *object) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
  return code ? code : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, object);
}

CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) { return curl_multi_setopt(multi, option, value); }

CURL *ccurl_multi_ended(CURLM *multi, CURLcode *result) {
  int left = 0;
  struct CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}
