import Credentials
import Crypto
import HTTPWire

/// Signs requests with one `hmac` credential. It keeps OpenSSL's context. Confined to one thread at a time.
public final class HMACSigning {
  private let policy: HMACPolicy
  private let code: KeyedHash
  /// The fields' names, colon and space.
  private let names: [[UInt8]]
  private let needsNonce: Bool
  private var buffer: [UInt8] = []

  /// What belongs to one attempt.
  public struct Moment: Sendable {
    /// Milliseconds since 1970.
    let wall: Int64
    public init(wall: Int64) { self.wall = wall }
  }

  public init(_ policy: HMACPolicy) throws(OpenSSLError) {
    self.policy = policy
    code = try KeyedHash(policy.algorithm.hash, key: policy.key.bytes)
    names = policy.fields.map { Array($0.name.utf8) + [UInt8(ascii: ":"), 0x20] }
    needsNonce = (policy.fields.map(\.value) + [policy.message]).contains { $0.pieces.contains(.nonce) }
  }

  /// Most bytes that `fields` returns for a head of this size.
  public func sizeLimit(head: Int) -> Int {
    var size = 0
    for (field, name) in zip(policy.fields, names) {
      size += name.count + 2
      for piece in field.value.pieces {
        switch piece {
        case .text(let text): size += text.count
        case .value(let index): size += policy.values[index].value.bytes.count
        // The head has them, at most with a separator for each line of one byte, or the scheme.
        case .method, .authority, .path, .query, .target, .url, .field: size += 2 * head + 8
        case .body: break
        case .bodyHash, .bodyHashBase64, .timestamp, .nonce: size += 64
        case .signature: size += 128
        }
      }
    }
    return size
  }

  /// The field lines, each with CRLF.
  /// - Parameter nonce: another one for each attempt; drawn only if it is needed.
  public func fields(
    for request: SignableRequest, at moment: Moment, nonce: () throws(OpenSSLError) -> [UInt8]
  ) throws(OpenSSLError) -> [UInt8] {
    let nonce = needsNonce ? try nonce() : []
    try code.begin()
    buffer.removeAll(keepingCapacity: true)
    for piece in policy.message.pieces {
      // What may be large is not copied.
      if case .body = piece {
        try code.add(buffer)
        buffer.removeAll(keepingCapacity: true)
        if let body = request.body { try code.add(body) }
      } else {
        append(piece, of: request, at: moment, nonce, signature: [], to: &buffer)
      }
    }
    try code.add(buffer)
    let signature = policy.output.text(of: try code.finish())
    var lines: [UInt8] = []
    lines.reserveCapacity(256)
    for (field, name) in zip(policy.fields, names) {
      lines.append(contentsOf: name)
      for piece in field.value.pieces { append(piece, of: request, at: moment, nonce, signature: signature, to: &lines) }
      lines.append(0x0d)
      lines.append(0x0a)
    }
    return lines
  }

  /// The message, with `***` in place of the credential's own values: for people.
  public func shownMessage(for request: SignableRequest, at moment: Moment, nonce: [UInt8]) -> [UInt8] {
    var message: [UInt8] = []
    for piece in policy.message.pieces {
      switch piece {
      case .value: message += Array("***".utf8)
      case .body: if let body = request.body { message += body }
      default: append(piece, of: request, at: moment, nonce, signature: [], to: &message)
      }
    }
    return message
  }

  private func append(
    _ piece: MessageTemplate.Piece, of request: SignableRequest, at moment: Moment, _ nonce: [UInt8], signature: [UInt8],
    to output: inout [UInt8]
  ) {
    switch piece {
    case .text(let text): output.append(contentsOf: text)
    case .method: output.append(contentsOf: request.method)
    case .authority: output.append(contentsOf: request.host)
    case .path: output.append(contentsOf: request.path)
    case .query: output.append(contentsOf: request.query.dropFirst())
    case .target: output.append(contentsOf: request.target)
    case .url: request.appendURL(to: &output)
    case .body: break
    case .bodyHash: Digits.append(hex: bodyHash(request), to: &output)
    case .bodyHashBase64: output.append(contentsOf: Base64.encode(bodyHash(request)))
    case .timestamp: policy.timestamp.append(moment.wall, to: &output)
    case .nonce: output.append(contentsOf: nonce)
    case .signature: output.append(contentsOf: signature)
    case .field(let name): request.append(field: name, to: &output)
    case .value(let index): output.append(contentsOf: policy.values[index].value.bytes)
    }
  }

  private func bodyHash(_ request: SignableRequest) -> [UInt8] {
    if let digest = request.digest, digest.count == HashAlgorithm.sha256.size { return digest }
    return SHA256.digest(request.body ?? UnsafeRawBufferPointer(start: nil, count: 0))
  }
}

extension HMACPolicy.Algorithm {
  fileprivate var hash: HashAlgorithm {
    switch self {
    case .sha1: .sha1
    case .sha256: .sha256
    case .sha384: .sha384
    case .sha512: .sha512
    }
  }
}

extension HMACPolicy.Output {
  fileprivate func text(of code: [UInt8]) -> [UInt8] {
    switch self {
    case .hex:
      var text: [UInt8] = []
      text.reserveCapacity(2 * code.count)
      Digits.append(hex: code, to: &text)
      return text
    case .base64: return Base64.encode(code)
    case .base64url: return Base64.encodeURL(code)
    }
  }
}

extension HMACPolicy.Timestamp {
  /// - Parameter wall: milliseconds since 1970.
  fileprivate func append(_ wall: Int64, to output: inout [UInt8]) {
    switch self {
    case .unix: Digits.append(decimal: wall / 1000, to: &output)
    case .unixMilliseconds: Digits.append(decimal: wall, to: &output)
    case .iso8601, .httpDate:
      output += [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
        var writer = ByteWriter(UnsafeMutableRawBufferPointer(buffer))
        if case .iso8601 = self {
          writer.append(internetTime: wall)
        } else {
          writer.append(httpDate: wall / 1000)
        }
        count = writer.count
      }
    }
  }
}
