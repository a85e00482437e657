import HTTPWire

/// What was asked of an origin.
public struct AskedTarget: Sendable {
  /// As written: case counts.
  public var method: String
  public var url: HTTPURL

  public init(method: String, url: HTTPURL) {
    self.method = method
    self.url = url
  }

}

/// What origins were asked for one request, in order. Of all URLs but the last it keeps no path: each may be as long as a head.
public struct AskedTargets: Sendable {
  /// Without path and query.
  public let first: HTTPURL
  public private(set) var last: AskedTarget
  /// One of each target. Nobody outside of the process can choose two targets with one hash.
  private var hashes: [Int]

  public var count: Int { hashes.count }

  public init(_ target: AskedTarget) {
    var url = target.url
    url.pathAndQuery = ""
    first = url
    last = target
    hashes = [Self.hash(of: target)]
  }

  public mutating func append(_ target: AskedTarget) {
    last = target
    hashes.append(Self.hash(of: target))
  }

  /// It was asked of another origin than its URL says.
  public mutating func moveLast(to url: HTTPURL) { last.url = url }

  func contains(_ target: AskedTarget) -> Bool { hashes.contains(Self.hash(of: target)) }

  private static func hash(of target: AskedTarget) -> Int {
    var hasher = Hasher()
    hasher.combine(target.method)
    hasher.combine(target.url.text)
    return hasher.finalize()
  }
}

/// The request that follows a redirect (RFC 9110 section 15.4), before it is known who would serve it.
public struct Redirect: Sendable {
  /// What the proxy has of the body of the request that was redirected.
  public enum Body: Sendable {
    /// There is none.
    case none
    /// All of it.
    case kept
    /// The app still sends it, and all of it will fit into what is kept.
    case arriving
    /// It was sent, and was not kept.
    case gone
    /// The app still sends it, and it may not be kept.
    case onItsWay
  }

  public let target: AskedTarget
  /// The next request has no content, and none of the fields that describe content.
  public let dropsContent: Bool

  /// Of the statuses from 300 to 399 only these name another target for the request.
  @inlinable
  public static func isStatus(_ status: Int) -> Bool {
    switch status {
    case 301, 302, 303, 307, 308: true
    default: false
    }
  }

  /// - Parameters:
  ///   - status: one of `isStatus`.
  ///   - locations: the values of all Location fields.
  ///   - asked: of origins so far; the last one is what this answers.
  ///   - hidden: the offset in the path where the origin was asked for one more segment, a secret, that no path here has; nil: none.
  ///   - limit: most redirects that are followed.
  public init(
    status: Int, locations: [UnsafeRawBufferPointer], asked: AskedTargets, hidden: Int? = nil, limit: Int, body: Body
  ) throws(RedirectRefusal) {
    let last = asked.last
    guard let location = locations.first else { throw .noLocation }
    guard locations.count == 1 else { throw .repeatedLocation }
    let (method, dropsContent) = try Self.next(after: status, to: last.method)
    let url: HTTPURL
    do throws(HeadError) {
      if let hidden, HTTPURL.isRelativeToPath(location) {
        url = try last.url.resolving(location, behindSegmentAt: hidden)
      } else {
        url = try last.url.resolving(location)
      }
    } catch { throw error == .userinfo ? .userinfo : .unreadable }
    guard url.isHTTPS || !last.url.isHTTPS else { throw .insecure }
    target = AskedTarget(method: method, url: url)
    self.dropsContent = dropsContent
    guard !asked.contains(target) else { throw .metBefore }
    guard asked.count <= limit else { throw .tooMany(limit: limit) }
    switch body {
    case .none, .kept: break
    case .arriving: if dropsContent { throw .bodyOnItsWay }
    case .gone: if !dropsContent { throw .bodyNotKept }
    case .onItsWay: throw .bodyOnItsWay
    }
  }

  private static func next(after status: Int, to method: String) throws(RedirectRefusal) -> (String, dropsContent: Bool) {
    switch (status, method) {
    case (307, _), (308, _): return (method, false)
    case (_, "GET"), (_, "HEAD"): return (method, true)
    case (303, _): return ("GET", true)
    case (_, "POST"): return ("GET", true)
    default: throw .method
    }
  }
}

extension HTTPURL {
  /// The same for a URL that has one more segment than this one.
  /// - Parameter place: of the slash before it.
  /// - Throws: also `ambiguousPath`: the reference leads out of the segment.
  fileprivate func resolving(
    _ reference: UnsafeRawBufferPointer, behindSegmentAt place: Int
  ) throws(HeadError) -> HTTPURL {
    // No reference of an origin has this segment's name by chance.
    let segment = "/:hidden:"
    var base = self
    let index = pathAndQuery.utf8.index(pathAndQuery.startIndex, offsetBy: min(place, pathAndQuery.utf8.count))
    base.pathAndQuery.insert(contentsOf: segment, at: index)
    var url = try base.resolving(reference)
    let before = pathAndQuery[..<index] + segment
    let rest = url.pathAndQuery.dropFirst(before.count)
    guard url.pathAndQuery.hasPrefix(before), rest.isEmpty || rest.first == "/" || rest.first == "?" else {
      throw .ambiguousPath
    }
    url.pathAndQuery = String(pathAndQuery[..<index] + rest)
    if url.pathAndQuery.first != "/" { url.pathAndQuery = "/" + url.pathAndQuery }
    return url
  }
}
