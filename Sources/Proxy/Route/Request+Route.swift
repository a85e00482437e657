import CSystem
import EventIO
import HTTPWire

extension Request {
  /// From the one authority of the target to the entry, and to the head that goes there. The app's Host field decides nothing.
  func route(_ target: RequestTarget, _ bytes: UnsafeRawBufferPointer) throws(ProxyError) -> Destination {
    summary.method = methodText(bytes)
    if worker.requestHead.passed(snapshot.name, in: bytes) { throw .loop }
    if worker.requestHead.expectation(in: bytes) == .unknown { throw .unknownExpectation }
    switch target.form {
    case .authority:
      summary.authority = String(decoding: target.authority.bytes(in: bytes), as: UTF8.self)
      let access = try identify(bytes)
      return try routeConnect(target, bytes, access)
    case .asterisk, .origin:
      guard let connected = client.connectedAuthority else {
        if target.form == .asterisk { return .answer(.options) }
        throw .originForm
      }
      summary.authority = connected.text
      note(path: target, bytes)
      // The route, too, is of the snapshot of the CONNECT.
      let route = snapshot.routes.find(host: connected.host, port: connected.port, isHTTPS: false)
      return try routeTo(connected.host, connected.port, route, target, bytes, earlier: connected.authorization)
    case .absolute:
      // After CONNECT the connection speaks for one authority; a second one in the target would be another opinion.
      if client.connectedAuthority != nil { throw .malformed(.targetForm) }
      let authority = target.authority.bytes(in: bytes)
      if !client.memo.matches(authority, isHTTPS: target.isHTTPS, in: snapshot) {
        client.memo.remember(target, bytes, in: snapshot)
      }
      summary.authority = client.memo.text
      note(path: target, bytes)
      return try routeTo(client.memo.host, client.memo.port, client.memo.route, target, bytes)
    }
  }

  private func routeTo(
    _ host: String, _ port: UInt16, _ route: RouteTable.Host?, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer,
    earlier: [UInt8]? = nil
  ) throws(ProxyError) -> Destination {
    let access = try identify(bytes, earlier: earlier)
    let entry = try snapshot.entry(
      route, method: method, host: host, port: port, path: target.path, in: bytes, for: access)
    // RFC 9110 section 7.6.2: at 0 it is ours to answer.
    var forwards: Int?
    if method == .options || method == .trace, let maxForwards = worker.requestHead.maxForwards(in: bytes) {
      if maxForwards == 0 { return .answer(method == .options ? .options : .trace(bytes)) }
      forwards = maxForwards - 1
    }
    try applyClientAuthorization(entry, bytes)
    let pool = worker.pool(of: entry, in: snapshot, host: host, port: port, isHTTPS: target.isHTTPS)
    renderHead(entry, pool.origin, target, bytes, forwards: forwards)
    return .origin(entry, pool)
  }

  private func note(path target: RequestTarget, _ bytes: UnsafeRawBufferPointer) {
    summary.path = target.path.isEmpty ? "/" : String(decoding: target.path.bytes(in: bytes), as: UTF8.self)
  }

  private func methodText(_ bytes: UnsafeRawBufferPointer) -> String {
    switch method {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    default: String(decoding: worker.requestHead.methodText.bytes(in: bytes), as: UTF8.self)
    }
  }

  /// `client_authorization`: what the app itself sent in the credential's field is replaced, kept, or refused.
  private func applyClientAuthorization(_ entry: Entry, _ bytes: UnsafeRawBufferPointer) throws(ProxyError) {
    guard entry.credential != nil else { return }
    switch entry.settings.clientAuthorization {
    case .replace: break
    case .keep: sendsCredential = !worker.requestHead.fields.has(entry.credentialField, in: bytes)
    case .reject:
      if worker.requestHead.fields.has(entry.credentialField, in: bytes) { throw .credentialFromApp(upstream: entry.name) }
    }
  }

  /// Generates the head anew from the parsed message; nothing is copied as it came but names, values and the target's path.
  private func renderHead(
    _ entry: Entry, _ origin: Origin, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer, forwards: Int?
  ) {
    let upgrade = worker.requestHead.upgradeToken(in: bytes)?.equalsIgnoringCase(webSocket, in: bytes) == true && body.isDone
    let takesTrailers = worker.requestHead.acceptsTrailers(in: bytes)
    appAcceptsGzip = entry.settings.decompress && worker.requestHead.fields.hasMember("gzip", in: .acceptEncoding, of: bytes)
    worker.requestHead.markHopByHop(in: bytes, keepUpgrade: upgrade)
    worker.requestHead.fields.drop(.host)
    if takesTrailers { worker.requestHead.fields.drop(.te) }
    // Each attempt decides for itself whether it asks.
    worker.requestHead.fields.drop(.expect)
    if forwards != nil { worker.requestHead.fields.drop(.maxForwards) }
    let adds =
      entry.settings.decompress && !appAcceptsGzip && !worker.requestHead.fields.has(Self.rangeField, in: bytes)
      && !worker.requestHead.fields.hasMember("no-transform", in: .cacheControl, of: bytes)
    if adds { worker.requestHead.fields.drop(.acceptEncoding) }
    // The credential goes in last: after Connection was obeyed, and after every field of its name was removed.
    if entry.credential != nil, sendsCredential {
      worker.requestHead.fields.drop(named: entry.credentialField, in: bytes)
    }
    authenticatesConnection = worker.requestHead.authenticatesConnection(in: bytes)
    // What came, as it will be written (each line may grow by a blank), and at most 152 bytes of lines of our own.
    let size =
      worker.requestHead.methodText.count + target.pathAndQuery.count + worker.requestHead.fields.keptSize
      + max(origin.hostLine.count, target.authority.count + 8) + snapshot.viaLine.count + 256
    let head = Block(capacity: size)
    var writer = ByteWriter(head.base, capacity: size)
    writer.append(worker.requestHead.methodText, of: bytes)
    writer.append(byte: UInt8(ascii: " "))
    writer.append(originFormOf: target, method: method, in: bytes)
    writer.append(" HTTP/1.1\r\n")
    if entry.settings.hostHeader == .app, target.form == .absolute {
      writer.appendField("Host", target.authority.bytes(in: bytes))
    } else {
      writer.append(origin.hostLine)
    }
    writer.append(fieldsOf: worker.requestHead.fields, in: bytes)
    if let forwards { writer.appendField("Max-Forwards", decimal: Int64(forwards)) }
    if adds { writer.appendField("Accept-Encoding", "gzip") }
    writer.append(clientIsHTTP11 ? snapshot.viaLine : snapshot.oldViaLine)
    if takesTrailers { writer.append("TE: trailers\r\n") }
    if upgrade {
      writer.appendField("Connection", takesTrailers ? "upgrade, TE" : "upgrade")
    } else {
      // RFC 9110 section 10.1.4: TE holds for this hop only, and says so.
      if takesTrailers { writer.appendField("Connection", "TE") }
      writer.append(framing: bodyFraming)
    }
    head.end = writer.count
    take(head: head, isUpgrade: upgrade)
  }

  private static let rangeField = Array("range".utf8)
}

/// The one protocol that is changed to. Others would carry requests past the proxy's rules: `h2c` above all.
let webSocket: StaticString = "websocket"

extension ContiguousArray<Field> {
  func has(_ name: [UInt8], in head: UnsafeRawBufferPointer) -> Bool {
    contains { $0.name.count == name.count && fieldNameEquals($0.name.bytes(in: head), name) }
  }
}
