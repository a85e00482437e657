// What of libcurl is a macro or takes varargs, so that Swift cannot call it.
#pragma once
#include <curl/curl.h>
