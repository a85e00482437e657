import HTTPWire

/// A final response's head as it goes to the app: decided over the parsed head, then written.
public struct OutboundResponse: ~Copyable {
  /// How the body goes to the app.
  public let framing: BodyFraming
  /// The app's connection may serve another request afterwards, and is told so.
  public let keepsClient: Bool
  private let minorVersion: UInt8
  private let isUpgrade: Bool
  /// The body is decoded on its way, or to HEAD would be.
  private let isDecoded: Bool
  private let authenticatesConnection: Bool
  /// Why an answer that might have been avoided is relayed: Proxy-Status details.
  private let note: String?
  /// Of what is not sent; -1: not said.
  private var ownLength: Int64 = -1
  /// Lines that stand for fields of the origin.
  private var rewritten: [UInt8] = []

  /// Decides on a response, and marks what of its head does not go on (RFC 9110 section 7.6).
  /// - Parameters:
  ///   - source: how the body comes.
  ///   - isInflated: the caller takes the coding off the body.
  ///   - keepsClient: what the app and the message so far allow.
  ///   - note: no secret.
  ///   - asked: the authority that the app asked for.
  public init(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, body source: BodyFraming, to request: OutboundRequest,
    isInflated: Bool, wasCoded: Bool, keepsClient: Bool, note: String?, of origin: OriginAuthority, rules: ForwardingRules,
    asked: @autoclosure () -> String
  ) {
    var sink = isInflated ? .chunked : source
    // A body whose end the origin marks by closing is chunked to the app, which so can tell an end from a cut.
    if sink == .untilClose { sink = .chunked }
    if sink == .chunked, !request.isHTTP11 { sink = .untilClose }
    framing = sink
    self.keepsClient = keepsClient && sink != .untilClose
    minorVersion = head.minorVersion
    isUpgrade = false
    // HEAD says what GET would.
    isDecoded = isInflated || wasCoded && request.method == .head
    authenticatesConnection = head.authenticatesConnection(in: bytes)
    self.note = note
    // Of what is not sent; a 204 has none (RFC 9110 section 8.6).
    if sink == .none, !isDecoded, head.status != 204, let length = head.contentLength(in: bytes) { ownLength = length }
    head.markHopByHop(in: bytes, keepUpgrade: false)
    rewritten = rules.rewritten(&head, in: bytes, of: origin, asked: asked())
    if head.contains(.proxyStatus) { head.fields.drop(.proxyStatus) }
    if isDecoded { head.dropCodedFields() }
  }

  /// A 101: the connection changes to the protocol that the app asked for.
  /// - Throws: `unexpectedUpgrade`.
  public init(
    switching head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, to request: OutboundRequest,
    of origin: OriginAuthority,
    rules: ForwardingRules, asked: @autoclosure () -> String
  ) throws(ForwardingError) {
    guard request.isUpgrade, head.upgradeToken(in: bytes)?.equalsIgnoringCase(webSocket, in: bytes) == true else {
      throw .unexpectedUpgrade
    }
    framing = .none
    keepsClient = true
    minorVersion = head.minorVersion
    isUpgrade = true
    isDecoded = false
    authenticatesConnection = false
    note = nil
    head.markHopByHop(in: bytes, keepUpgrade: true)
    rewritten = rules.rewritten(&head, in: bytes, of: origin, asked: asked())
    if head.contains(.proxyStatus) { head.fields.drop(.proxyStatus) }
  }

  /// Bytes that `write` takes at most.
  public func sizeLimit(of head: UnsafeRawBufferPointer, _ parsed: borrowing ResponseHead, rules: ForwardingRules) -> Int {
    let said = note.map { ByteWriter.sizeLimit(ofProxyStatus: rules.name, error: nil, details: $0) } ?? 0
    // Lines grow by a blank each, lists by one for each comma; lines of our own have at most 250 bytes.
    return head.count + head.count / 2 + parsed.fields.count + rewritten.count + said + rules.name.viaLine.count + 320
  }

  /// - Parameter dateLine: `Date: ...\r\n`, at most 64 bytes; used if the origin sent none.
  public func write(
    _ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, rules: ForwardingRules,
    dateLine: @autoclosure () -> [UInt8],
    into writer: inout ByteWriter
  ) {
    writer.append(statusLineOf: head, in: bytes)
    writer.append(fieldsOf: head.fields, in: bytes)
    if !rewritten.isEmpty { writer.append(rewritten) }
    if head.contains(.proxyStatus) {
      // What an upstream forged under our name goes; an app must be able to tell who answered.
      for field in head.fields where field.id == .proxyStatus {
        writer.append(listField: field, without: rules.name.bytes, in: bytes)
      }
    }
    if isDecoded { writer.append(decodedFieldsOf: head, in: bytes) }
    if let note { writer.append(proxyStatusOf: rules.name, error: nil, details: note) }
    // RFC 4559 section 6: without it an app must not answer the challenge through a proxy.
    if authenticatesConnection { writer.appendField("Proxy-Support", "Session-Based-Authentication") }
    // RFC 9110 section 6.6.1: who forwards an answer without a date adds one.
    if !head.contains(.date) { writer.append(dateLine()) }
    writer.append(viaOf: rules.name, minorVersion: minorVersion)
    if isUpgrade {
      writer.appendField("Connection", "upgrade")
    } else {
      writer.append(framing: framing)
      if ownLength >= 0 { writer.appendField("Content-Length", decimal: ownLength) }
      if !keepsClient { writer.appendField("Connection", "close") }
    }
    writer.appendCRLF()
  }
}
