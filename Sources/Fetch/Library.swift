import CCurlShims
import Synchronization

/// libcurl, loaded when it is needed first.
enum Library {
  private static let isLoaded = Mutex(false)

  /// Any thread may call it. A failure is not final: descriptors or memory may have been short.
  /// - Returns: why libcurl cannot be used; nil: it can.
  static func load() -> String? {
    isLoaded.withLock { isLoaded in
      if isLoaded { return nil }
      let failure = ccurl_load().map { String(cString: $0) }
      isLoaded = failure == nil
      return failure
    }
  }
}
