/// The files and programs of this machine, for sources of tokens. Every call blocks, so only lanes make them.
public struct SourceAccess: Sendable {
  public struct File: Sendable {
    public var content: Secret
    /// It belongs to root or to the proxy's user, and nobody else may write it.
    public var isOurs: Bool
    public init(content: Secret, isOurs: Bool) {
      self.content = content
      self.isOurs = isOurs
    }
  }

  /// A program whose standard output is wanted.
  public struct Program: Sendable {
    /// The first is an absolute path.
    public var arguments: [String]
    /// `NAME=value` each.
    public var environment: [String]
    /// Milliseconds.
    public var timeout: Int
  }

  /// Why there is no content, as a clause without secrets.
  public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
    public var description: String
    /// There is no such file.
    public var isAbsence: Bool
    public init(_ description: String, isAbsence: Bool = false) {
      self.description = description
      self.isAbsence = isAbsence
    }
  }

  /// Takes an absolute path.
  public var read: @Sendable (String) throws(Problem) -> File
  public var run: @Sendable (Program) throws(Problem) -> Secret

  public init(
    read: @escaping @Sendable (String) throws(Problem) -> File, run: @escaping @Sendable (Program) throws(Problem) -> Secret
  ) {
    self.read = read
    self.run = run
  }

  /// Reads and runs nothing.
  public static let none = SourceAccess(
    read: { (_: String) throws(Problem) in throw Problem("not read") },
    run: { (_: Program) throws(Problem) in throw Problem("not run") })
}
