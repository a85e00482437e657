import HTTPWire

/// A final response's head for the app: the initializers decide on the parsed head, `write` writes the new one.
public struct OutboundResponse: ~Copyable {
  /// Framing of the body for the app.
  public let framing: BodyFraming
  /// The app's connection may serve another request, and the head says so.
  public let keepsClient: Bool
  private let minorVersion: UInt8
  /// It was received over HTTP/2.
  private let isHTTP2: Bool
  private let isUpgrade: Bool
  /// The proxy decodes the body, or would if the request were not HEAD.
  private let isDecoded: Bool
  /// Only if the body is decoded.
  private var keepsETag = false
  private let authenticatesConnection: Bool
  /// Why the proxy relays a refusal: Proxy-Status details.
  private let note: String?
  /// Length of a body that is not sent; -1: unknown.
  private var ownLength: Int64 = -1
  /// Cache-Status of caches behind the proxy.
  private var cacheStatus: [Field] = []
  /// Lines that replace fields of the origin.
  private var rewritten: [UInt8] = []
  /// Lines that precede all fields of the origin: of cookies with one name, the app keeps the one that comes last.
  private let redirected: [UInt8]

  /// Decides about a response, and marks the fields that are not forwarded (RFC 9110 section 7.6).
  /// - Parameters:
  ///   - source: framing of the origin's body.
  ///   - isInflated: the caller decodes the body.
  ///   - keepsClient: whether app and message allow to keep the connection.
  ///   - note: without secrets.
  ///   - asked: the authority that the app requested.
  ///   - redirected: lines that redirects before it have added.
  ///   - isHTTP2: it came over HTTP/2.
  public init(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, body source: BodyFraming,
    to request: borrowing OutboundRequest, isInflated: Bool, wasCoded: Bool, keepsClient: Bool, note: String?,
    of origin: borrowing OriginAuthority, rules: borrowing ForwardingRules,
    asked: @autoclosure () -> String, behind redirected: [UInt8] = [], isHTTP2: Bool = false
  ) {
    self.isHTTP2 = isHTTP2
    var sink = isInflated ? .chunked : source
    // If the origin delimits the body by closing, the proxy chunks it, so that the app can tell an end from a cut.
    if sink == .untilClose { sink = .chunked }
    let (isHTTP11, isHead) = (request.isHTTP11, request.method == .head)
    if sink == .chunked, !isHTTP11 { sink = .untilClose }
    framing = sink
    self.keepsClient = keepsClient && sink != .untilClose
    minorVersion = head.minorVersion
    isUpgrade = false
    // HEAD has the fields that GET would have.
    isDecoded = isInflated || wasCoded && isHead
    authenticatesConnection = head.authenticatesConnection(in: bytes)
    self.note = note
    // Length of a body that is not sent; a 204 has none (RFC 9110 section 8.6).
    if sink == .none, !isDecoded, head.status != 204, let length = head.contentLength(in: bytes) { ownLength = length }
    head.markHopByHop(in: bytes, keepUpgrade: false)
    rules.responseHeaders?.mark(&head.fields, in: bytes)
    rewritten = rules.rewritten(&head, in: bytes, of: origin, asked: asked())
    self.redirected = redirected
    if head.contains(.proxyStatus) { head.fields.drop(.proxyStatus) }
    if rules.tellsCacheStatus, head.contains(.cacheStatus) { cacheStatus = head.dropCacheStatus() }
    if isDecoded {
      keepsETag = head.fields.first(.etag)?.dropped == false
      head.dropCodedFields()
    }
  }

  /// A 101: the connection switches to the protocol that the app asked for.
  /// - Throws: `unexpectedUpgrade`.
  public init(
    switching head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, to request: OutboundRequest,
    of origin: OriginAuthority,
    rules: ForwardingRules, asked: @autoclosure () -> String, behind redirected: [UInt8] = []
  ) throws(ForwardingError) {
    guard request.isUpgrade, head.upgradeToken(in: bytes)?.equalsIgnoringCase(webSocket, in: bytes) == true else {
      throw .unexpectedUpgrade
    }
    framing = .none
    isHTTP2 = false
    keepsClient = true
    minorVersion = head.minorVersion
    isUpgrade = true
    isDecoded = false
    authenticatesConnection = false
    note = nil
    self.redirected = redirected
    head.markHopByHop(in: bytes, keepUpgrade: true)
    rules.responseHeaders?.mark(&head.fields, in: bytes)
    rewritten = rules.rewritten(&head, in: bytes, of: origin, asked: asked())
    if head.contains(.proxyStatus) { head.fields.drop(.proxyStatus) }
  }

  /// Most bytes that `write` needs.
  public func sizeLimit(
    of head: UnsafeRawBufferPointer, _ parsed: borrowing ResponseHead, rules: ForwardingRules,
    client: @autoclosure () -> String? = nil
  ) -> Int {
    let said = note.map { ByteWriter.sizeLimit(ofProxyStatus: rules.name, error: nil, details: $0) } ?? 0
    // Each line may grow by a space, each list by one per comma; the proxy's own lines take at most 250 bytes.
    return head.count + head.count / 2 + parsed.fields.count + rewritten.count + redirected.count + said
      + rules.name.viaLine.count + 320
      + (rules.responseHeaders?.size(client: client()) ?? 0)
  }

  /// Fields that hold for this message alone, and do not end with it at this hop.
  private static let ofMessage = FieldSet(.age, .te, .trailer, .proxyStatus)

  /// Nothing that `write` puts before what it returns is for this message alone.
  public func isForOthers(_ head: borrowing ResponseHead, rules: ForwardingRules) -> Bool {
    note == nil && redirected.isEmpty && cacheStatus.isEmpty && rules.responseHeaders == nil && !isDecoded
      && !head.present.intersects(Self.ofMessage)
  }

  /// - Parameters:
  ///   - dateLine: `Date: ...\r\n`, at most 64 bytes; used if the origin sent none.
  ///   - client: name of the client; nil: unknown.
  /// - Returns: where in the writer the framing begins, which ends the head.
  @discardableResult
  public func write(
    _ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, rules: ForwardingRules,
    dateLine: @autoclosure () -> [UInt8], client: @autoclosure () -> String? = nil,
    into writer: inout ByteWriter
  ) -> Int {
    writer.append(statusLineOf: head, in: bytes)
    if !redirected.isEmpty { writer.append(redirected) }
    writer.append(fieldsOf: head.fields, in: bytes)
    if !rewritten.isEmpty { writer.append(rewritten) }
    if let own = rules.responseHeaders { writer.append(own, client: client()) }
    if head.contains(.proxyStatus) {
      // Drops members with the proxy's name that an upstream forged: an app must be able to tell who answered.
      for field in head.fields where field.id == .proxyStatus {
        writer.append(listField: field, without: rules.name.bytes, in: bytes)
      }
    }
    // The proxy adds its own member, and no other may have its name.
    for field in cacheStatus { writer.append(listField: field, without: rules.name.bytes, in: bytes) }
    if isDecoded { writer.append(decodedFieldsOf: head, in: bytes, keepsETag: keepsETag) }
    if let note { writer.append(proxyStatusOf: rules.name, error: nil, details: note, isHTTP2: isHTTP2) }
    // RFC 4559 section 6: without this field an app must not answer the challenge through a proxy.
    if authenticatesConnection { writer.appendField("Proxy-Support", "Session-Based-Authentication") }
    // RFC 9110 section 6.6.1: whoever forwards a response without a date adds one.
    if !head.contains(.date), rules.responseHeaders?.written.contains(.date) != true { writer.append(dateLine()) }
    writer.append(viaOf: rules.name, minorVersion: minorVersion, isHTTP2: isHTTP2)
    let end = writer.count
    if isUpgrade {
      writer.appendField("Connection", "upgrade")
    } else {
      writer.append(framing: framing)
      if ownLength >= 0 { writer.appendField("Content-Length", decimal: ownLength) }
      if !keepsClient { writer.appendField("Connection", "close") }
    }
    writer.appendCRLF()
    return end
  }
}

extension ResponseHead {
  /// Marks the Cache-Status fields as dropped, and returns those that were not.
  fileprivate mutating func dropCacheStatus() -> [Field] {
    var found: [Field] = []
    for index in fields.indices where !fields[index].dropped && fields[index].id == .cacheStatus {
      found.append(fields[index])
      fields[index].dropped = true
    }
    return found
  }
}
