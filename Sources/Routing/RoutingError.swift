import HTTPWire

/// Why a request has no way on.
public enum RoutingError: Error, Sendable, Equatable {
  /// The path can be read in more than one way, on a host where that matters.
  case malformed(HeadError)
  case hostNotListed(host: String)
  /// - client: nil = anonymous.
  case notAllowed(client: String?, upstream: String)
  case traceWithCredential
  case connectNotAllowed(target: String)
}
