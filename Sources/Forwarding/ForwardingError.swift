/// Why the proxy does not forward a message.
public enum ForwardingError: Error, Sendable, Equatable {
  /// The proxy's own name is in Via.
  case loop
  /// Expect asks for something other than `100-continue`.
  case unknownExpectation
  /// The app sent a field with the credential's name, and the entry accepts none.
  case credentialFromApp
  /// An origin might resolve the path past a credential that is its first segment.
  case ambiguousPath
  /// A 101 to a request that did not ask for this protocol.
  case unexpectedUpgrade
}
