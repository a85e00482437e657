/// A place in the configuration file. Lines and columns count from 1, columns in characters.
public struct Place: Sendable, Hashable, Comparable, CustomStringConvertible {
  public var line: Int
  public var column: Int
  public init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }
  public static func < (left: Place, right: Place) -> Bool { (left.line, left.column) < (right.line, right.column) }
  public var description: String { "\(line):\(column)" }
}

/// An error or a warning about a configuration. Never contains a secret.
public struct Diagnostic: Sendable, Hashable, CustomStringConvertible {
  public enum Severity: String, Sendable, Hashable { case error, warning }
  public var severity: Severity
  /// The file as it was named on the command line.
  public var file: String
  /// nil if the diagnostic has no line, for example because the file cannot be opened.
  public var place: Place?
  public var message: String
  public init(severity: Severity, file: String, place: Place?, message: String) {
    self.severity = severity
    self.file = file
    self.place = place
    self.message = message
  }
  /// The form of compilers, which editors understand: `proxy.conf:14:7: error: ...`.
  public var description: String {
    guard let place else { return "\(file): \(severity.rawValue): \(message)" }
    return "\(file):\(place): \(severity.rawValue): \(message)"
  }
}
