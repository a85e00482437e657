import Glibc

/// The little that a reading needs to know of the process that it happens in.
enum ProcessState {
  /// Seconds since 1970.
  static func now() -> Int64 { Int64(time(nil)) }

  /// The path from the root, so that it stays right when the working directory changes.
  static func absolute(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    guard let current = getcwd(nil, 0) else { return path }
    defer { free(current) }
    let folder = String(cString: current)
    return path == "." ? folder : "\(folder)/\(path)"
  }
}
