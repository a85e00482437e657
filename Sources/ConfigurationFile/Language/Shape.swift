import Settings

/// What a key's value may look like.
indirect enum Shape: Sendable {
  case text(Text)
  case boolean
  case integer(ClosedRange<Int>)
  /// Milliseconds.
  case duration(ClosedRange<Int>)
  /// Milliseconds; may be written in days.
  case longDuration(ClosedRange<Int>)
  /// Bytes.
  case size(ClosedRange<Int>)
  /// One of these words.
  case words([String])
  /// A text, or a mapping of `SecretKeys`.
  case secret
  /// - mayBeEmpty: the key without a value is an empty section.
  case section(any KeySet.Type, mayBeEmpty: Bool = false)
  case list(of: Shape)
  /// A list, or a single item that is not in a list.
  case oneOrMore(of: Shape)
  /// A mapping whose keys the operator chooses.
  case map(of: Shape)
  case oneOf([Shape])

  /// What a text means.
  enum Text: String, Sendable, CaseIterable {
    case anything = "text"
    case name
    case nameInUpstreams = "name in 'upstreams'"
    case nameInClients = "name in 'clients'"
    case nameInCredentials = "name in 'credentials'"
    case nameInTrust = "name in 'trust'"
    case nameInParents = "name in 'parents'"
    case parentURL = "http://, https://, socks5:// or socks5h:// URL with a port"
    case routePattern = "host, *.host or address, [:port], or CIDR block"
    case address = "address"
    case pseudonym = "word of at most 64 letters, digits and -._"
    case file = "file path"
    case program = "program's path or argument"
    case environmentVariable = "environment variable"
    case userOrGroup = "user or group, by name or number"
    case permissions = "octal permissions"
    case listenAddress = "address:port, unix:path or fd:number"
    case addressBlock = "address or CIDR block"
    case hostPattern = "host or *.host, [:port]"
    case hostName = "host"
    case method = "HTTP method"
    case match = "[https://]host or *.host, [:port][/path]"
    case url = "http:// or https:// URL"
    case uri = "absolute URI"
    case redisAddress = "redis:// or rediss:// with host and port, or unix:path"
    case objectName = "name of a Kubernetes object"
    case origin = "http:// or https:// URL without a query, or unix:path"
    case fieldName = "name of an HTTP field"
    case fieldPattern = "name of an HTTP field, or its beginning and *"
    case fieldTemplate = "text with {client} for the client's name"
    case fieldFormat = "text that holds {value} once"
    case jwtFormat = "text that holds {jwt} once"
    case jsonObject = "text that is a JSON object"
    case template = "text with placeholders"
    case component = "derived component, or name of an HTTP field"
    case structuredKey = "lower-case word"
    case scope = "words with one space between"
    case pin = "sha256/ and base64"
    case date = "UTC day or time"
  }

  /// The units, of which a number must have one; empty if the number has no unit.
  var units: [String] {
    switch self {
    case .duration: Units.ofDurations.map(\.name)
    case .longDuration: (Units.ofDurations + [Units.day]).map(\.name)
    case .size: Units.ofSizes.map(\.name)
    default: []
    }
  }

  var mayBeEmpty: Bool {
    if case .section(_, mayBeEmpty: true) = self { true } else { false }
  }
}
