import HTTPWire

/// How one connection authenticates to a parent that wants each request answered anew: Digest, or Negotiate. Confined to its loop. All
/// connections of a loop share what they learn of a parent.
public protocol ParentAuthentication: AnyObject {
  /// What the next request over this connection carries.
  func value(for request: ParentRequest) -> ParentValue
  /// Reads the head of each final answer.
  func read(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer) -> ParentReading
  /// Bytes that `value` has at most.
  /// - Parameter target: bytes of the request's target.
  func sizeLimit(target: Int) -> Int
  /// The last request carried what shows whether the secret is right.
  var hasAnswered: Bool { get }
  /// Of an answer that was refused: nanoseconds until it is worth another try; nil: not before the credential changes.
  var pauseAfterRefusal: Int64? { get }
}

/// A request as it is answered for.
public struct ParentRequest {
  public let method: UnsafeRawBufferPointer
  /// As it is sent.
  public let target: UnsafeRawBufferPointer
  public let hasBody: Bool
}

/// What a request carries.
public enum ParentValue {
  /// The value of Proxy-Authorization.
  case field([UInt8])
  /// Nothing: the answer will say what is wanted, or the connection is authenticated.
  case none
  /// The text has no secret.
  case failed(String)
}

/// What an answer says of the authentication.
public enum ParentReading: Equatable {
  public enum Next {
    /// Any connection will do.
    case anyConnection
    /// The parent expects it on the connection of the challenge.
    case thisConnection
    /// With a new ticket: `obtain` again.
    case newTicket
    /// Any connection will do. The parent wants another realm, or another kind of answer, than it did before.
    case otherRules
  }
  /// It is no 407, and nothing is wrong.
  case other
  /// The request is to be sent again.
  case challenge(Next)
  /// - Parameter pause: nanoseconds until it is worth another try; nil: not before the credential changes.
  case refused(pause: Int64?)
  /// The parent does not prove what it should.
  case invalid(String)

  /// How long a parent is not asked again whose challenge has no answer here, in nanoseconds: no password was refused.
  public static let pause: Int64 = 30_000_000_000

  /// Other rules are met once per request: each time they would have another answer made of the password.
  /// - Parameter hasMet: the request has met other rules before.
  func once(_ hasMet: Bool) -> ParentReading {
    hasMet && self == .challenge(.otherRules) ? .refused(pause: Self.pause) : self
  }
}

/// The parent as a credential knows it.
public struct ParentPeer {
  public let isTLS: Bool
  public let host: String
  public let port: UInt16
  /// What binds an authentication to the connection (RFC 5929); nil: there is no TLS, or its certificate has no hash for it.
  public let endPointBinding: [UInt8]?
}

/// The rest of an answer that nobody reads, before the next request over its connection.
struct SkippedBody {
  /// Bytes that are worth reading to keep a connection.
  private static let limit = 65_536

  private var left = SkippedBody.limit
  private var isCounted = false
  private var decoder: ChunkedDecoder?

  /// nil: it ends with the connection, or is too long.
  init?(_ framing: BodyFraming) {
    switch framing {
    case .none: (left, isCounted) = (0, true)
    case .length(let length):
      guard length <= Self.limit else { return nil }
      (left, isCounted) = (Int(length), true)
    case .chunked: decoder = ChunkedDecoder()
    case .untilClose: return nil
    }
  }

  enum Progress { case over, more, unusable }

  /// Removes what has come of it.
  mutating func skip(_ received: inout [UInt8]) -> Progress {
    if isCounted {
      let count = min(left, received.count)
      received.removeFirst(count)
      left -= count
      return left == 0 ? .over : .more
    }
    while !received.isEmpty {
      guard let output = try? received.withUnsafeMutableBytes({ try decoder?.decode($0) }) else { return .unusable }
      received.removeFirst(output.consumed)
      left -= output.consumed
      if output.state == .done { return .over }
      if left < 0 { return .unusable }
      if output.consumed == 0 { return .more }
    }
    return .more
  }
}
