import Settings

/// Builds nodes from libyaml's events. Resolves anchors, aliases and merge keys; reports duplicate keys with both places.
struct NodeComposer {
  /// Largest configuration file in bytes: enough for some 50,000 upstreams.
  static let sizeLimit = 8 << 20
  /// Bounds the recursion, so that hostile input cannot overflow the stack. No configuration is this deep.
  private static let depthLimit = 64
  /// Nodes that aliases may add. Stops a "billion laughs" file.
  private static let aliasLimit = 100_000

  private let events: YAMLEvents
  private let report: Report
  private var anchors: [String: (node: Node, weight: Int)] = [:]
  private var added = 0

  /// The file's one document; nil if it is empty, or after a syntax error, which is reported.
  static func compose(_ bytes: [UInt8], report: Report) -> Node? {
    guard bytes.count <= sizeLimit else {
      report.error(nil, "larger than \(sizeLimit) bytes")
      return nil
    }
    if let place = firstInvalidUTF8(bytes) {
      report.error(place, "not UTF-8")
      return nil
    }
    // libyaml reads the byte order mark as a character if the caller sets the encoding.
    let text = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? Array(bytes.dropFirst(3)) : bytes
    var composer = NodeComposer(events: YAMLEvents(text), report: report)
    do throws(SyntaxError) { return try composer.document() } catch {
      report.error(error.place, error.message)
      return nil
    }
  }

  private init(events: YAMLEvents, report: Report) {
    self.events = events
    self.report = report
  }

  private mutating func document() throws(SyntaxError) -> Node? {
    _ = try events.next()
    guard case .documentStart = try events.next().kind else { return nil }
    let (root, _) = try compose(try events.next(), depth: 0)
    _ = try events.next()
    let after = try events.next()
    if case .documentStart = after.kind {
      throw SyntaxError(place: after.place, message: "a second YAML document; a configuration is one document")
    }
    return root
  }

  /// A node and the number of nodes in it; nodes behind an alias count at each use.
  private mutating func compose(_ event: YAMLEvent, depth: Int) throws(SyntaxError) -> (Node, weight: Int) {
    guard depth < Self.depthLimit else {
      throw SyntaxError(place: event.place, message: "nested deeper than \(Self.depthLimit) levels")
    }
    checkTag(event)
    let content: Node.Content
    var weight = 1
    switch event.kind {
    case .alias(let name):
      guard let (node, weight) = anchors[name] else {
        throw SyntaxError(place: event.place, message: "there is no anchor \(shown("&" + name)) above")
      }
      added += weight
      guard added <= Self.aliasLimit else {
        throw SyntaxError(place: event.place, message: "aliases expand to more than \(Self.aliasLimit) values")
      }
      return (node, weight)
    case .scalar(let text, let plain): content = .scalar(text, plain: plain)
    case .sequenceStart:
      var items: [Node] = []
      while true {
        let next = try events.next()
        if case .sequenceEnd = next.kind { break }
        let (item, itemWeight) = try compose(next, depth: depth + 1)
        items.append(item)
        weight += itemWeight
      }
      content = .sequence(items)
    case .mappingStart: content = .mapping(try mapping(depth: depth, weight: &weight))
    default: throw SyntaxError(place: event.place, message: "not YAML: a value was expected")
    }
    let node = Node(place: event.place, content: content)
    if let anchor = event.anchor { anchors[anchor] = (node, weight) }
    return (node, weight)
  }

  private mutating func mapping(depth: Int, weight: inout Int) throws(SyntaxError) -> [Node.Entry] {
    var entries: [Node.Entry] = []
    var places: [String: Place] = [:]
    var merged: [Node] = []
    while true {
      let next = try events.next()
      if case .mappingEnd = next.kind { break }
      let (key, keyWeight) = try compose(next, depth: depth + 1)
      let (value, valueWeight) = try compose(try events.next(), depth: depth + 1)
      weight += keyWeight + valueWeight
      guard case .scalar(let name, let plain) = key.content else {
        report.error(next.place, "a key must be a text, not \(key.kind)")
        continue
      }
      if let first = places[name] {
        report.error(next.place, "duplicate key \(shown(name)), first at \(first)")
        continue
      }
      places[name] = next.place
      if name == "<<" && plain {
        merged += parents(value)
      } else {
        entries.append(Node.Entry(key: name, keyPlace: next.place, value: value))
      }
    }
    // The mapping's own keys override merged ones, and earlier parents override later ones (YAML's merge key type).
    for case .mapping(let inherited) in merged.map(\.content) {
      for entry in inherited where places[entry.key] == nil {
        places[entry.key] = entry.keyPlace
        entries.append(entry)
      }
    }
    return entries
  }

  private func parents(_ value: Node) -> [Node] {
    switch value.content {
    case .mapping: return [value]
    case .sequence(let items):
      return items.filter { item in
        if case .mapping = item.content { return true }
        report.error(item.place, "'<<' merges mappings, not \(item.kind)")
        return false
      }
    case .scalar:
      report.error(value.place, "'<<' merges mappings, not \(value.kind)")
      return []
    }
  }

  private func checkTag(_ event: YAMLEvent) {
    guard let tag = event.tag, tag != "!" else { return }
    let known = ["str", "map", "seq", "int", "bool", "float", "null", "merge"].map { "tag:yaml.org,2002:" + $0 }
    if !known.contains(tag) { report.error(event.place, "unknown tag \(shown(tag)); all values are plain text") }
  }

  private static func firstInvalidUTF8(_ bytes: [UInt8]) -> Place? {
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    var valid = 0
    while true {
      switch decoder.decode(&iterator) {
      case .scalarValue(let scalar): valid += UTF8.width(scalar)
      case .emptyInput: return nil
      case .error: return Place(ofByte: valid, in: bytes)
      }
    }
  }
}
