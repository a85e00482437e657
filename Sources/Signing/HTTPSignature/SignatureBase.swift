import Crypto
import HTTPWire

/// The signature base of RFC 9421 section 2.5, line by line, and the list of what it covers.
struct SignatureBase {
  /// With the last line only after `finish`.
  private(set) var text: [UInt8] = []
  /// The covered components as an inner list, without its end.
  private var list = [UInt8(ascii: "(")]

  init() { text.reserveCapacity(512) }

  /// Adds a component.
  /// - Parameters:
  ///   - identifier: serialised: a string with its parameters.
  ///   - value: appends it; false: the request lacks the component, which is left out.
  mutating func add(_ identifier: [UInt8], value: (inout [UInt8]) -> Bool) {
    let start = text.count
    text.append(contentsOf: identifier)
    text.append(UInt8(ascii: ":"))
    text.append(0x20)
    guard value(&text) else {
      text.removeSubrange(start...)
      return
    }
    text.append(0x0a)
    if list.count > 1 { list.append(0x20) }
    list.append(contentsOf: identifier)
  }

  /// Adds the last line.
  /// - Parameter parameters: of the signature, as the list has them behind it.
  /// - Returns: the list with its parameters: the value of Signature-Input behind the label.
  mutating func finish(_ parameters: [UInt8]) -> [UInt8] {
    let input = list + [UInt8(ascii: ")")] + parameters
    text.append(contentsOf: Self.parametersLine)
    text.append(contentsOf: input)
    return input
  }

  private static let parametersLine = Array("\"@signature-params\": ".utf8)
}

/// What a signature can cover (RFC 9421 section 2).
enum SignatureComponent: Sendable, Hashable {
  case method, authority, path, query, targetURI, scheme, requestTarget
  /// In lower case.
  case field([UInt8])

  /// nil: there is no such derived component.
  init?(_ name: String) {
    switch name {
    case "@method": self = .method
    case "@authority": self = .authority
    case "@path": self = .path
    case "@query": self = .query
    case "@target-uri": self = .targetURI
    case "@scheme": self = .scheme
    case "@request-target": self = .requestTarget
    default:
      guard !name.hasPrefix("@"), !name.isEmpty else { return nil }
      self = .field(Array(name.lowercased().utf8))
    }
  }

  /// Appends its value, but for Content-Digest that the request lacks.
  /// - Returns: whether the request has it.
  func append(of request: SignableRequest, to output: inout [UInt8]) -> Bool {
    switch self {
    case .method: output.append(contentsOf: request.method)
    case .authority: Self.append(authority: request.host, isTLS: request.isTLS, to: &output)
    case .path:
      let path = request.path
      if path.isEmpty { output.append(UInt8(ascii: "/")) } else { output.append(contentsOf: path) }
    case .query:
      let query = request.query
      // Section 2.2.7: none is a question mark, too.
      if query.isEmpty { output.append(UInt8(ascii: "?")) } else { output.append(contentsOf: query) }
    case .targetURI: request.appendURL(to: &output)
    case .scheme: output.append(contentsOf: request.isTLS ? Self.https : Self.http)
    case .requestTarget: output.append(contentsOf: request.target)
    case .field(let name): return request.append(field: name, to: &output)
    }
    return true
  }

  private static let http = Array("http".utf8)
  private static let https = Array("https".utf8)

  /// Section 2.2.3: in lower case, without the scheme's default port.
  private static func append(authority host: UnsafeRawBufferPointer, isTLS: Bool, to output: inout [UInt8]) {
    var end = host.count
    let port: StaticString = isTLS ? ":443" : ":80"
    let size = port.utf8CodeUnitCount
    if end >= size,
      equalBytes(
        UnsafeRawBufferPointer(rebasing: host[(end - size)...]), UnsafeRawBufferPointer(start: port.utf8Start, count: size))
    {
      end -= size
    }
    for byte in host[..<end] { output.append(byte &- 0x41 < 26 ? byte | 0x20 : byte) }
  }
}
