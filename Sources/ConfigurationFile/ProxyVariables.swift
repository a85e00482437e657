import Settings
import WayOut

/// The variables that other programs read for their way out, as the proxy's own process has them.
struct ProxyVariables {
  struct Variable {
    /// `https_proxy`: also the name of its parent.
    var name: String
    /// As it is set: `HTTPS_PROXY`.
    var variable: String
    var value: String
  }

  static let names = ["https_proxy", "http_proxy", "all_proxy"]

  /// In the order of `names`.
  let parents: [Variable]
  let exceptions: Variable?

  init(_ environment: [String: String]) {
    func variable(_ name: String) -> Variable? {
      var spellings = [name, name.uppercased()]
      // Beside REQUEST_METHOD, HTTP_PROXY may be a request's field `Proxy` (CVE-2016-5385).
      if name == "http_proxy", environment["REQUEST_METHOD"] != nil { spellings.removeLast() }
      // An empty variable counts as unset.
      for spelling in spellings {
        if let value = environment[spelling].map(Self.trimmed), !value.isEmpty {
          return Variable(name: name, variable: spelling, value: value)
        }
      }
      return nil
    }
    parents = Self.names.compactMap(variable)
    exceptions = variable("no_proxy")
  }

  private static func trimmed(_ text: String) -> String {
    var text = text[...]
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return String(text)
  }

  /// The items of `no_proxy`, separated by commas or spaces.
  /// - Returns: nil for an item that has no meaning.
  static func patterns(_ text: String) -> [(text: String, pattern: WayPattern?)] {
    text.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" }).map { (String($0), pattern(String($0))) }
  }

  /// `*`, `example.com` and `.example.com` (the name and all below it), `*.example.com` (below it), an address, a block; a port may
  /// follow all but a block. A block's mask counts, whatever its other bits are.
  private static func pattern(_ text: String) -> WayPattern? {
    if let range = AddressRange(masking: text) {
      return WayPattern(.block(network: range.network, prefixLength: range.prefixLength))
    }
    let name = text.hasPrefix(".") ? String(text.dropFirst()) : text
    guard let pattern = try? WayPattern(parsing: name) else { return nil }
    if case .name(let host) = pattern.hosts { return WayPattern(.domain(host), port: pattern.port) }
    return name == text ? pattern : nil
  }
}

extension AddressRange {
  /// A block of which the bits beyond the prefix may be set; nil: it is none.
  fileprivate init?(masking text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, var address = IPAddress.parse(String(parts[0])), let count = Int(parts[1]), count >= 0 else {
      return nil
    }
    let isIPv4 = !parts[0].utf8.contains(UInt8(ascii: ":"))
    guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), count <= (isIPv4 ? 32 : 128) else { return nil }
    let prefix = isIPv4 ? count + 96 : count
    for bit in prefix..<128 { address[bit / 8] &= ~(0x80 >> UInt8(bit % 8)) }
    self.init(network: address, prefixLength: prefix)
  }
}
