#pragma once
#include <curl/curl.h>

/// Loads and initializes libcurl. Everything else here needs it to have returned NULL before. One thread at a time may call it, and
/// again after a failure.
/// Returns NULL, or why it cannot be used.
const char *ccurl_load(void);

// Functions of libcurl, as far as they are used. Those with varargs, which Swift cannot call, have one wrapper per kind of argument.

CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value);
CURLcode ccurl_set_size(CURL *easy, CURLoption option, curl_off_t value);
CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value);
CURLcode ccurl_set_object(CURL *easy, CURLoption option, void *value);
CURLcode ccurl_set_list(CURL *easy, struct curl_slist *fields);
CURLcode ccurl_set_write(CURL *easy, CURLoption option, curl_write_callback callback);
CURLcode ccurl_set_prerequest(CURL *easy, curl_prereq_callback callback);
CURLcode ccurl_set_open_socket(CURL *easy, curl_opensocket_callback callback);
CURLcode ccurl_set_context(CURL *easy, curl_ssl_ctx_callback callback);

/// 0 if there is none.
long ccurl_status(CURL *easy);
/// Seconds; 0 if the response had no Retry-After.
curl_off_t ccurl_retry_after(CURL *easy);
/// The value of a field that the last response has once; NULL otherwise. Valid until the next call with this handle.
const char *ccurl_only_field(CURL *easy, const char *name);
void *ccurl_private(CURL *easy);
/// The SSL of the transfer's connection; NULL if there is none.
void *ccurl_ssl(CURL *easy);

CURLMcode ccurl_multi_set_socket(CURLM *multi, curl_socket_callback callback, void *object);
CURLMcode ccurl_multi_set_timer(CURLM *multi, curl_multi_timer_callback callback, void *object);
CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value);
/// The easy handle of the next finished transfer; NULL if there is none.
CURL *ccurl_multi_ended(CURLM *multi, CURLcode *result);

struct curl_slist *ccurl_list_append(struct curl_slist *list, const char *text);
void ccurl_list_free(struct curl_slist *list);

CURL *ccurl_easy_init(void);
void ccurl_easy_cleanup(CURL *easy);
const char *ccurl_easy_strerror(CURLcode code);

CURLM *ccurl_multi_init(void);
void ccurl_multi_cleanup(CURLM *multi);
CURLMcode ccurl_multi_add(CURLM *multi, CURL *easy);
void ccurl_multi_remove(CURLM *multi, CURL *easy);
/// Tells it of events of a socket; CURL_SOCKET_TIMEOUT: that its time is up.
void ccurl_multi_act(CURLM *multi, curl_socket_t socket, int events);
