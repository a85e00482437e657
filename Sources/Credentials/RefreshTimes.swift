/// How long a refresh can take, as every process that waits for one must know.
extension OAuth2Policy {
  /// Milliseconds after the time-outs of its requests. Then the machine gives up a fetch that never returned.
  static let fetchGrace: Int64 = 5_000
  /// Milliseconds for everything else that a refresh does under the credential's lock: lanes, files, assertions.
  private static let lockGrace: Int64 = 10_000

  /// Milliseconds from the first request of a refresh until it has failed.
  public var longestFetch: Int64 {
    if let source { return source.longestFetch(timeout: timeout) + Self.fetchGrace }
    var requests: Int64 = 1
    // Discovery asks at most two addresses.
    if case .issuer = endpoint { requests += 2 }
    // A refused scope is left out.
    if grant.isStored, scope != nil { requests += 1 }
    // Each source may need a token first, may refresh it after a refusal, and the exchange is repeated then.
    requests += 3 * Int64(sourceNames.count)
    // A server may ask for its nonce.
    if dpop != nil { requests += 1 }
    return requests * Int64(timeout) + Self.fetchGrace
  }

  /// Milliseconds: longer than any refresh holds the credential's lock.
  public var lockPatience: Int64 { sharing == nil ? longestFetch + Self.lockGrace : claimPatience }

  /// The same of a claim in a shared store, which outlives its holder, and may be taken over by another process that dies.
  var claimPatience: Int64 { 2 * claimTerms.duration }
}

extension OAuth2Policy {
  /// Milliseconds: the first byte of a token request goes out at most so long after the write of its claim was sent. Not after the answer
  /// to it: a process that is frozen over the answer does not see when it came, and the others count from the write.
  public var sendingTime: Int64 { Int64(timeout) + ClaimTerms.settling }

  /// `2 * timeout + 10 s` for a refresh token: the request is sent by `sendingTime`, and it ends a `timeout` later, or one for each nonce
  /// or scope that a server may refuse. The rest is for clocks that differ in speed, and for what comes between a time-out and its effect.
  public var claimTerms: ClaimTerms {
    let requests = longestFetch - Self.fetchGrace
    return grant.isStored
      ? ClaimTerms(duration: sendingTime + requests + 9_000, guardsRefreshToken: true)
      : ClaimTerms(duration: requests + 1_000, guardsRefreshToken: false)
  }
}
