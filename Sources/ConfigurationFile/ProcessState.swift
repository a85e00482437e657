import Glibc

/// The clock and working directory of the process, for a reading.
enum ProcessState {
  /// Seconds since 1970.
  static func now() -> Int64 { Int64(time(nil)) }

  /// The absolute path, which stays valid when the working directory changes.
  static func absolute(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    guard let current = getcwd(nil, 0) else { return path }
    defer { free(current) }
    let folder = String(cString: current)
    return path == "." ? folder : "\(folder)/\(path)"
  }
}
