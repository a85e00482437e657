import Credentials
import Crypto
import HTTPWire
import Signing

extension AWSRequestSignature {
  /// The fields that sign a request, in addition to its own.
  func fields(for request: TokenHTTPRequest) throws(OpenSSLError) -> [(name: String, value: [UInt8])] {
    guard let url = try? HTTPURL(request.url) else { throw OpenSSLError(.crypto, "the URL of AWS STS is not valid") }
    let path = url.pathAndQuery
    let target = path.isEmpty ? "/" : path.hasPrefix("?") ? "/\(path)" : path
    // As libcurl writes Host: without the port that the scheme implies.
    let isUsual = url.effectivePort == (url.isHTTPS ? 443 : 80)
    let name = url.hostKind == .ipv6 ? "[\(url.host)]" : url.host
    let host = isUsual ? name : "\(name):\(url.effectivePort)"
    var lines: [UInt8] = []
    for field in request.fields { lines += Array("\(field.name): ".utf8) + field.value.bytes + [0x0d, 0x0a] }
    var hash: [UInt8] = []
    request.body.bytes.withUnsafeBytes { hash = SigV4Payload.hashed.line(body: $0) }
    let time = SigningTime(time)
    let scope = SigningScope(service: Array(service.utf8), region: Array(region.utf8))
    let signature = Self.withBytes(request.method.rawValue, target, host, lines) { method, target, host, lines in
      SigV4Signature(
        of: SigV4Request(method: method, target: target, host: host, fields: lines), for: scope, at: time,
        token: keys.sessionToken?.bytes, payload: hash, writesPayload: false)
    }
    let key = try SigningKey(secret: keys.secretAccessKey.bytes, for: scope, on: time.day)
    let line = signature.authorizationLine(
      accessKeyID: Array(keys.accessKeyID.utf8), signature: try signature.signature(by: key))
    var fields: [(name: String, value: [UInt8])] = [("X-Amz-Date", time.text)]
    if let token = keys.sessionToken { fields.append(("X-Amz-Security-Token", token.bytes)) }
    // The line is a field's, with CRLF.
    fields.append(("Authorization", Array(line.dropFirst("Authorization: ".utf8.count).dropLast(2))))
    return fields
  }

  private static func withBytes<Result>(
    _ method: String, _ target: String, _ host: String, _ lines: [UInt8],
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Result
  ) -> Result {
    Array(method.utf8).withUnsafeBytes { method in
      Array(target.utf8).withUnsafeBytes { target in
        Array(host.utf8).withUnsafeBytes { host in lines.withUnsafeBytes { body(method, target, host, $0) } }
      }
    }
  }
}
