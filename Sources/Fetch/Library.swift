import CCurlShims

/// libcurl, loaded when it is needed first.
enum Library {
  /// Why it cannot be used; nil: it can.
  static let failure = ccurl_load().map { String(cString: $0) }
}
