// Macros of zlib, which Swift cannot call.
#pragma once
#include <zlib.h>

/// inflateInit2 is a macro.
static inline int czlib_inflate_init(z_stream *stream, int window_bits) { return inflateInit2(stream, window_bits); }
static inline int czlib_inflate(z_stream *stream) { return inflate(stream, Z_SYNC_FLUSH); }
