import RESP

/// An error that a server replied, by what it means for whoever runs the fleet. Never has the server's text, which may repeat a
/// command's arguments.
public struct RedisRefusal: Error, Sendable, Hashable {
  public enum Kind: Sendable, Hashable {
    case passwordMissing
    case passwordWrong
    case permissionMissing
    /// The server has no RESP3.
    case protocolUnknown
    case commandUnknown
    case loading
    case primaryDown
    case readOnly
    case outOfMemory
    case cannotSave
    case tooFewReplicas
    case busy
    case tooManyClients
    case isProtected
    case wrongType
    case databaseUnknown
    /// The slot of a cluster is at another node for good, or for this command only. nil: the server named no host that can be asked.
    case moved(RedisNode?)
    case ask(RedisNode?)
    case clusterDown
    case tryAgain
    case other
  }

  public let kind: Kind
  /// The server's word for it: `WRONGPASS`; may be empty.
  public let code: String

  public init(_ kind: Kind, code: String) {
    self.kind = kind
    self.code = code
  }

  /// The connection is of no use any more, and the primary is to be asked for again.
  public var endsConnection: Bool {
    switch kind {
    case .passwordMissing, .passwordWrong, .loading, .primaryDown, .readOnly, .tooManyClients, .isProtected: true
    default: false
    }
  }
}

/// A node of a cluster as a redirection names it. An empty host is that of the node that redirects.
public struct RedisNode: Sendable, Hashable {
  public var host: String
  public var port: UInt16
  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// - Parameter text: of a redirection: `MOVED 3999 127.0.0.1:6381`, also with an IPv6 address without brackets.
  init?(redirection text: String) {
    let words = text.split(separator: " ")
    guard words.count >= 3, let colon = words[2].lastIndex(of: ":"),
      let port = UInt16(words[2][words[2].index(after: colon)...]), port > 0
    else { return nil }
    var host = words[2][..<colon]
    if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
    self.init(host: String(host), port: port)
  }
}

extension RedisRefusal {
  private static let kinds: [String: Kind] = [
    "NOAUTH": .passwordMissing, "WRONGPASS": .passwordWrong, "NOPERM": .permissionMissing, "NOPROTO": .protocolUnknown,
    "LOADING": .loading, "MASTERDOWN": .primaryDown, "READONLY": .readOnly, "OOM": .outOfMemory, "MISCONF": .cannotSave,
    "NOREPLICAS": .tooFewReplicas, "BUSY": .busy, "DENIED": .isProtected, "WRONGTYPE": .wrongType, "CLUSTERDOWN": .clusterDown,
    "TRYAGAIN": .tryAgain,
  ]

  /// What servers say behind ERR, which is no code of its own. The first that is found counts.
  private static let phrases: [(text: String, kind: Kind)] = [
    ("unknown command 'HELLO'", .protocolUnknown), ("unknown command `HELLO`", .protocolUnknown),
    ("unknown command", .commandUnknown), ("max number of clients", .tooManyClients),
    ("DB index is out of range", .databaseUnknown), ("SELECT is not allowed", .databaseUnknown),
    ("can't run this command", .permissionMissing), ("can't access at least one of the keys", .permissionMissing),
    ("AUTH <password> called without any password", .passwordWrong),
  ]

  public init(_ error: RESPError) {
    let text = String(decoding: error.text.prefix(1_000), as: UTF8.self)
    switch error.code {
    case "MOVED": self.init(.moved(RedisNode(redirection: text)), code: "MOVED")
    case "ASK": self.init(.ask(RedisNode(redirection: text)), code: "ASK")
    case "ERR": self.init(unspecific: text)
    default: self.init(Self.kinds[error.code] ?? .other, code: error.code)
    }
  }

  private init(unspecific text: String) {
    // Until version 7, an error inside of a script comes behind the place in it: `ERR Error running script ...: -READONLY You can't ...`.
    for word in text.split(separator: " ") where word.first == "-" {
      let code = String(word.dropFirst())
      if let kind = Self.kinds[code] {
        self.init(kind, code: code)
        return
      }
    }
    self.init(Self.phrases.first { text.contains($0.text) }?.kind ?? .other, code: "ERR")
  }
}
