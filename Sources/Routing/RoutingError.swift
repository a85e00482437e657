import HTTPWire

/// Why a request cannot be routed.
public enum RoutingError: Error, Sendable, Equatable {
  /// The path has several readings, on a host where that matters.
  case malformed(HeadError)
  case hostNotListed(host: String)
  /// - client: nil = anonymous.
  case notAllowed(client: String?, upstream: String)
  case traceWithCredential
  /// The entry does not serve the method.
  case methodNotAllowed(upstream: String, allowed: [String])
  case connectNotAllowed(target: String)
}
