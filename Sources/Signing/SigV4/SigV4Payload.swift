import Credentials
import Crypto

/// What an app says about its body in X-Amz-Content-Sha256.
public enum DeclaredPayload: Sendable, Hashable {
  case none
  case hash([UInt8])
  case unsigned
  /// STREAMING-UNSIGNED-PAYLOAD-TRAILER
  case unsignedStream
  /// STREAMING-AWS4-HMAC-SHA256-PAYLOAD, with -TRAILER or without.
  case signedStream(trailer: Bool)
  /// Another form: SigV4A, events, or nothing that anybody knows.
  case other

  public init(_ value: UnsafeRawBufferPointer?) {
    guard let value else {
      self = .none
      return
    }
    let text = Array(value)
    if text.count == 64, text.allSatisfy({ Self.isHex($0) }) {
      self = .hash(text)
    } else if text.equals("UNSIGNED-PAYLOAD") {
      self = .unsigned
    } else if text.equals("STREAMING-UNSIGNED-PAYLOAD-TRAILER") {
      self = .unsignedStream
    } else if text.equals("STREAMING-AWS4-HMAC-SHA256-PAYLOAD") {
      self = .signedStream(trailer: false)
    } else if text.equals("STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER") {
      self = .signedStream(trailer: true)
    } else {
      self = .other
    }
  }

  private static func isHex(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20) }
}

/// What goes in the place of a payload's hash, and what it takes.
public enum SigV4Payload: Sendable, Hashable {
  /// There is no body.
  case none
  /// The body is read whole first.
  case hashed
  /// The app vouches for this hash, and the origin compares.
  case declared([UInt8])
  case unsigned
  case unsignedStream
  /// Each chunk is signed again in passing.
  case signedStream(trailer: Bool)

  public enum Problem: Error, Sendable, Hashable {
    /// A form that the proxy does not sign.
    case notSupported
    /// `payload: signed`, and the app streams without signatures.
    case unsignedStream
  }

  /// - Parameters:
  ///   - length: of the body; nil: unknown.
  public init(
    _ declared: DeclaredPayload, _ policy: SigV4Policy.Payload, service: [UInt8], isTLS: Bool, hasBody: Bool, length: Int64?
  ) throws(Problem) {
    switch declared {
    case .hash(let hash): self = .declared(hash)
    case .signedStream(let trailer): self = .signedStream(trailer: trailer)
    case .other: throw .notSupported
    case .unsignedStream:
      if policy == .signed { throw .unsignedStream }
      self = .unsignedStream
    case .unsigned: self = policy != .signed ? .unsigned : hasBody ? .hashed : .none
    case .none:
      guard hasBody else {
        self = .none
        return
      }
      let isS3 = PathForm(of: service) == .asWritten
      switch policy {
      case .unsigned where isS3: self = .unsigned
      case .auto where isS3 && isTLS && length != nil: self = .unsigned
      case .auto, .signed, .unsigned: self = .hashed
      }
    }
  }

  /// The last line of the canonical request.
  /// - Parameter body: of `hashed`.
  public func line(body: UnsafeRawBufferPointer) -> [UInt8] {
    switch self {
    case .none: return Self.emptyHash
    case .hashed: return Self.line(of: SHA256.digest(body))
    case .declared(let hash): return hash
    case .unsigned: return Array("UNSIGNED-PAYLOAD".utf8)
    case .unsignedStream: return Array("STREAMING-UNSIGNED-PAYLOAD-TRAILER".utf8)
    case .signedStream(let trailer):
      return Array((trailer ? "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER" : "STREAMING-AWS4-HMAC-SHA256-PAYLOAD").utf8)
    }
  }

  /// The same for a body with this digest.
  public static func line(of digest: [UInt8]) -> [UInt8] {
    var hash: [UInt8] = []
    hash.reserveCapacity(64)
    hash.append(hex: digest)
    return hash
  }

  /// In lower-case hexadecimal digits.
  static let emptyHash = Array("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".utf8)
}
