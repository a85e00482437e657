/// A command as clients send it: an array of bulk strings. Arguments may be passwords and sealed tokens, so it has no text of its own.
public struct RESPCommand: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  public let arguments: [[UInt8]]

  /// - Parameter arguments: the command's name first.
  public init(_ arguments: [[UInt8]]) { self.arguments = arguments }

  public init(_ words: String...) { arguments = words.map { Array($0.utf8) } }

  public func write(to bytes: inout [UInt8]) {
    bytes.reserveCapacity(bytes.count + arguments.reduce(16) { $0 + $1.count + 16 })
    bytes += "*\(arguments.count)\r\n".utf8
    for argument in arguments {
      bytes += "$\(argument.count)\r\n".utf8
      bytes += argument
      bytes += "\r\n".utf8
    }
  }

  public var description: String { "<command>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
