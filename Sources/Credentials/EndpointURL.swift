/// The parts of a URL that decide whether a secret may be sent there.
public struct EndpointURL: Sendable, Hashable {
  public enum Problem: Error, Sendable, Hashable {
    case malformed
    /// RFC 6749 section 3.2: a token endpoint has no fragment; user information would be a second place for secrets.
    case fragmentOrUserInformation
    /// http is for loopback alone (RFC 6749 section 3.2 demands TLS).
    case notHTTPS
  }

  public var scheme: String
  /// Lower case; IPv6 addresses with their brackets.
  public var host: String
  public var port: String?
  /// From the first `/` on, with the query; empty where there is none.
  public var pathAndQuery: String

  public init(_ text: String) throws(Problem) {
    guard text.utf8.count <= 2048, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != 0x5c && $0 != 0x22 }),
      let separator = text.firstRange(ofText: "://")
    else { throw .malformed }
    scheme = text[..<separator.lowerBound].lowercased()
    let rest = text[separator.upperBound...]
    let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
    let authority = rest[..<end]
    pathAndQuery = String(rest[end...])
    guard !authority.contains("@"), !pathAndQuery.contains("#") else { throw .fragmentOrUserInformation }
    let hostEnd: Substring.Index
    if authority.first == "[" {
      guard let bracket = authority.firstIndex(of: "]") else { throw .malformed }
      hostEnd = authority.index(after: bracket)
    } else {
      hostEnd = authority.firstIndex(of: ":") ?? authority.endIndex
    }
    host = authority[..<hostEnd].lowercased()
    let portPart = authority[hostEnd...]
    if portPart.isEmpty {
      port = nil
    } else {
      guard portPart.first == ":", let number = UInt16(portPart.dropFirst()), number > 0 else { throw .malformed }
      port = String(number)
    }
    guard !host.isEmpty, host != "[]" else { throw .malformed }
    switch scheme {
    case "https": break
    case "http":
      guard isLoopback else { throw .notHTTPS }
    default: throw .notHTTPS
    }
  }

  /// By what is written: a name other than `localhost` is never resolved to find out.
  public var isLoopback: Bool {
    if host == "localhost" || host == "[::1]" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  var origin: String { scheme + "://" + host + (port.map { ":" + $0 } ?? "") }
}

extension EndpointURL.Problem: CustomStringConvertible {
  public var description: String {
    switch self {
    case .malformed: "it is not an absolute URL"
    case .fragmentOrUserInformation: "it has a fragment or user information"
    case .notHTTPS: "it is not https, and not loopback"
    }
  }
}

extension String {
  func firstRange(ofText text: String) -> Range<String.Index>? {
    var index = startIndex
    while index < endIndex {
      if self[index...].hasPrefix(text) { return index..<self.index(index, offsetBy: text.count) }
      formIndex(after: &index)
    }
    return nil
  }
}
