/// What all requests on one HTTP/2 connection have in common, beside its origin. Servers may bind a connection to the first token that
/// they see on it, and judge by the first `:authority`.
public struct StreamIdentity: Sendable, Hashable {
  /// The origin must speak HTTP/2: nothing else is offered.
  public var isRequired: Bool
  /// Identity of the credential that the proxy adds; nil: none.
  public var credential: UInt64?
  /// As the app asked for it; empty: the origin's own.
  public var authority: [UInt8]
  /// No field that may enter HPACK's table is the credential's.
  public var indexesFields = true
  /// A connection has failed under each of these requests: they share connections one after another, so that none takes down others
  /// again.
  public var isAlone = false

  public init(isRequired: Bool, credential: UInt64?, authority: [UInt8] = []) {
    self.isRequired = isRequired
    self.credential = credential
    self.authority = authority
  }

  /// Whether it is the same, but for an authority that is still where the app wrote it.
  func equals(_ other: StreamIdentity, authority: UnsafeRawBufferPointer) -> Bool {
    isRequired == other.isRequired && credential == other.credential && indexesFields == other.indexesFields
      && isAlone == other.isAlone && self.authority.elementsEqual(authority)
  }
}
