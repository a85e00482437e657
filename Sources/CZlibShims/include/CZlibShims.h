// What of zlib is a macro or takes varargs, so that Swift cannot call it.
#pragma once
#include <zlib.h>
