import Forwarding
import HTTPWire

/// The signature that an app itself puts on a request, often with keys that mean nothing. It is not verified: only its scope matters.
public struct AppSignature: Sendable, Hashable {
  public enum Algorithm: Sendable, Hashable {
    /// AWS4-HMAC-SHA256.
    case sigV4
    /// Another that begins with `AWS4-`, such as SigV4A.
    case other
  }
  public let algorithm: Algorithm
  /// nil: its credential has none that can be signed for.
  public let scope: SigningScope?

  private init(_ algorithm: UnsafeRawBufferPointer, credential: [UInt8]?) {
    self.algorithm = algorithm.elementsEqual("AWS4-HMAC-SHA256".utf8) ? .sigV4 : .other
    scope = credential.flatMap(Self.scope)
  }

  /// - Parameter authorization: the value of Authorization.
  /// - Returns: nil for another scheme.
  public init?(authorization value: UnsafeRawBufferPointer) {
    guard Self.isScheme(value) else { return nil }
    let end = value.firstIndex { $0 == 0x20 || $0 == 0x09 } ?? value.count
    self.init(
      UnsafeRawBufferPointer(rebasing: value[..<end]),
      credential: Self.parameter("Credential=", of: UnsafeRawBufferPointer(rebasing: value[end...])))
  }

  /// Whether the value of Authorization is an AWS signature.
  public static func isScheme(_ value: UnsafeRawBufferPointer) -> Bool { AWSAuthorization.isScheme(value) }

  /// - Parameter target: of a request whose query has X-Amz-Signature.
  /// - Returns: nil for another one.
  public init?(presigned target: UnsafeRawBufferPointer) {
    guard PresignedQuery.isPresent(in: target) else { return nil }
    let algorithm = Self.decoded(PresignedQuery.value(of: "x-amz-algorithm", in: target))
    let credential = PresignedQuery.value(of: "x-amz-credential", in: target).map { Self.decoded($0) }
    self = algorithm.withUnsafeBytes { AppSignature($0, credential: credential) }
  }

  private static func decoded(_ value: UnsafeRawBufferPointer?) -> [UInt8] {
    guard let value else { return [] }
    var (bytes, index) = ([UInt8](), 0)
    while index < value.count {
      let (byte, width) = decodedByte(at: index, in: value)
      bytes.append(byte)
      index += width
    }
    return bytes
  }

  private static func parameter(_ name: StaticString, of value: UnsafeRawBufferPointer) -> [UInt8]? {
    for member in value.split(separator: UInt8(ascii: ",")) {
      let trimmed = member.drop { $0 == 0x20 || $0 == 0x09 }
      let prefix = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
      guard trimmed.starts(with: prefix) else { continue }
      var text = Array(trimmed.dropFirst(prefix.count))
      while let last = text.last, last == 0x20 || last == 0x09 { text.removeLast() }
      return text
    }
    return nil
  }

  /// `<access key id>/20150830/us-east-1/iam/aws4_request`. The id may contain slashes: the scope is counted from the end.
  private static func scope(of credential: [UInt8]) -> SigningScope? {
    let parts = credential.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count >= 5, parts[parts.count - 1].elementsEqual("aws4_request".utf8) else { return nil }
    let (region, service) = (Array(parts[parts.count - 3]), Array(parts[parts.count - 2]))
    guard isName(region), isName(service) else { return nil }
    return SigningScope(service: service, region: region)
  }

  /// What regions and services are made of. Anything else could write into the line that the proxy writes.
  public static func isName(_ name: [UInt8]) -> Bool {
    (1...64).contains(name.count) && name.allSatisfy { isUnreserved($0) && $0 != UInt8(ascii: "~") }
  }
}
