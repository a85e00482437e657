import Crypto
import HTTPWire

/// What a signature is valid for, beside its day.
public struct SigningScope: Sendable, Hashable {
  public let service: [UInt8]
  public let region: [UInt8]
  public init(service: [UInt8], region: [UInt8]) {
    self.service = service
    self.region = region
  }
}

/// The time of a signature: `20150830T123600Z`.
public struct SigningTime: Sendable, Hashable {
  /// Seconds since 1970.
  public let seconds: Int64
  public let text: [UInt8]
  public init(_ seconds: Int64) {
    self.seconds = seconds
    text = withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) { buffer in
      var writer = ByteWriter(buffer)
      writer.append(basicTime: seconds)
      return Array(writer.written)
    }
  }
  /// `20150830`
  public var day: ArraySlice<UInt8> { text[..<8] }
}

/// A request as its signature sees it. Valid as long as the bytes.
public struct SigV4Request {
  public var method: UnsafeRawBufferPointer
  /// Path and query, as they are written.
  public var target: UnsafeRawBufferPointer
  /// The value of Host.
  public var host: UnsafeRawBufferPointer
  /// Lines with CRLF.
  public var fields: UnsafeRawBufferPointer

  public init(
    method: UnsafeRawBufferPointer, target: UnsafeRawBufferPointer, host: UnsafeRawBufferPointer, fields: UnsafeRawBufferPointer
  ) {
    self.method = method
    self.target = target
    self.host = host
    self.fields = fields
  }
}

/// What a signature is made of, and what is written of it.
public struct SigV4Signature {
  public let scope: SigningScope
  public let time: SigningTime
  public let canonicalRequest: [UInt8]
  public let stringToSign: [UInt8]
  /// Of `canonicalRequest`.
  private let signedFields: Range<Int>

  /// - Parameters:
  ///   - token: the session token; nil: there is none.
  ///   - payload: last line of the canonical request: a hash, or what stands for it.
  ///   - writesPayload: it goes in a field of the request, too, which is not among its fields so far.
  ///   - signsAll: all fields are signed; for examples of others.
  ///   - form: nil: that of the service.
  public init(
    of request: SigV4Request, for scope: SigningScope, at time: SigningTime, token: [UInt8]?, payload: [UInt8],
    writesPayload: Bool, signsAll: Bool = false, form: PathForm? = nil
  ) {
    self.scope = scope
    self.time = time
    var text: [UInt8] = []
    text.reserveCapacity(request.target.count + request.fields.count + 512)
    text.append(contentsOf: request.method)
    text.append(0x0a)
    let end = request.target.firstIndex(of: UInt8(ascii: "?")) ?? request.target.count
    text.append(
      canonicalPath: UnsafeRawBufferPointer(rebasing: request.target[..<end]), form ?? PathForm(of: scope.service))
    text.append(0x0a)
    text.append(canonicalQueryOf: request.target)
    text.append(0x0a)
    signedFields = time.text.withUnsafeBytes { date in
      (token ?? []).withUnsafeBytes { tokenBytes in
        payload.withUnsafeBytes { payloadBytes in
          var fields = CanonicalFields(takesAll: signsAll)
          fields.add("host", request.host)
          fields.add(lines: request.fields)
          fields.add("x-amz-date", date)
          if token != nil { fields.add("x-amz-security-token", tokenBytes) }
          if writesPayload { fields.add("x-amz-content-sha256", payloadBytes) }
          return fields.write(into: &text)
        }
      }
    }
    text.append(0x0a)
    text.append(contentsOf: payload)
    canonicalRequest = text
    var string: [UInt8] = []
    string.reserveCapacity(192)
    string.append(ascii: "AWS4-HMAC-SHA256\n")
    string.append(contentsOf: time.text)
    string.append(0x0a)
    string.append(scope, on: time)
    string.append(0x0a)
    string.append(hex: SHA256.digest(text))
    stringToSign = string
  }

  /// 64 lower-case hexadecimal digits.
  public func signature(by key: SigningKey) throws(OpenSSLError) -> [UInt8] {
    try key.sign(stringToSign)
  }

  /// `Authorization: ...` with CRLF.
  public func authorizationLine(accessKeyID: [UInt8], signature: [UInt8]) -> [UInt8] {
    var line: [UInt8] = []
    line.reserveCapacity(accessKeyID.count + signedFields.count + 256)
    line.append(ascii: "Authorization: AWS4-HMAC-SHA256 Credential=")
    line.append(contentsOf: accessKeyID)
    line.append(UInt8(ascii: "/"))
    line.append(scope, on: time)
    line.append(ascii: ", SignedHeaders=")
    line.append(contentsOf: canonicalRequest[signedFields])
    line.append(ascii: ", Signature=")
    line.append(contentsOf: signature)
    line.append(ascii: "\r\n")
    return line
  }
}

extension [UInt8] {
  /// `20150830/us-east-1/iam/aws4_request`
  mutating func append(_ scope: SigningScope, on time: SigningTime) {
    append(contentsOf: time.day)
    append(UInt8(ascii: "/"))
    append(contentsOf: scope.region)
    append(UInt8(ascii: "/"))
    append(contentsOf: scope.service)
    append(ascii: "/aws4_request")
  }
}
