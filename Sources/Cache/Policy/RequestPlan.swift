import HTTPWire

/// What a request may have of the store, decided by its head.
public struct RequestPlan: Sendable {
  public enum Pass: Sendable, Hashable {
    /// `fwd=method`.
    case method
    /// `fwd=bypass`: a body, an Upgrade, or a condition for the origin alone (If-Match, If-Unmodified-Since).
    case bypass
  }

  /// It goes by the store. An answer may still invalidate.
  public let pass: Pass?
  public let isHead: Bool
  public let needs: RequestNeeds
  public let condition: CacheCondition
  public let range: RangeRequest
  public let rangeCondition: RangeCondition
  /// There is a Range field, whatever it says: without a stored answer it passes as it came.
  public let hasRange: Bool
  /// An answer to it may be stored.
  public let mayStore: Bool
  private let waits: Bool

  /// It may wait for the answer to an identical request, and others for its own.
  /// - Parameter hasStored: there is a stored answer that a fetch will validate. Without one, a condition of the app goes to the origin.
  public func mayCollapse(hasStored: Bool) -> Bool { waits && (hasStored || condition == .none) }

  /// - Parameters:
  ///   - framing: of the request.
  ///   - wall: Unix time.
  public init(
    _ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer, framing: BodyFraming, _ rules: CacheRules,
    wall: @autoclosure () -> Int64
  ) {
    isHead = head.method == .head
    hasRange = head.contains(.range)
    var pass: Pass?
    if head.method != .get, head.method != .head {
      pass = .method
    } else if framing.hasBytes {
      pass = .bypass
    } else if head.contains(.upgrade) || head.contains(.ifMatch) || head.contains(.ifUnmodifiedSince) {
      // RFC 9111 section 4.3.2: a cache does not evaluate these two.
      pass = .bypass
    }
    self.pass = pass
    guard pass == nil else {
      needs = RequestNeeds()
      condition = .none
      range = .none
      rangeCondition = .none
      mayStore = false
      waits = false
      return
    }
    needs = RequestNeeds(head, in: bytes, rules)
    condition = CacheCondition(head, in: bytes, wall: wall())
    range = RangeRequest(head, in: bytes)
    rangeCondition = RangeCondition(head, in: bytes, wall: wall())
    mayStore = !isHead && !hasRange && !needs.noStore
    waits =
      mayStore && rules.collapse != .off && !needs.noCache && !needs.onlyIfCached && needs.maxAge == nil
      && needs.minFresh == nil
  }

  /// How a stored answer, fresh or validated, answers this request (RFC 9110 section 13.2.2).
  public func answer(from facts: ResponseFacts, size: Int, received: Int64) -> StoredPart {
    if condition.isMet(by: facts, received: received) { return .notModified }
    guard hasRange, facts.status == 200, rangeCondition.permitsPart(of: facts) else { return .whole }
    switch range.part(of: size) {
    case .whole: return .whole
    case .bytes(let range): return .part(range)
    case .unsatisfiable: return .unsatisfiable
    }
  }
}

/// What of a stored answer goes to an app.
public enum StoredPart: Sendable, Hashable {
  case whole
  /// 206.
  case part(Range<Int>)
  /// 304.
  case notModified
  /// 416.
  case unsatisfiable
}
