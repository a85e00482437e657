import CYAML
import Settings

/// Why a text is not YAML, or is YAML that the configuration does not allow.
struct SyntaxError: Error {
  var place: Place
  var message: String
}

struct YAMLEvent {
  enum Kind {
    case streamStart, streamEnd, documentStart, documentEnd
    case alias(String)
    case scalar(String, plain: Bool)
    case sequenceStart, sequenceEnd
    case mappingStart, mappingEnd
  }
  var kind: Kind
  var place: Place
  var anchor: String?
  var tag: String?
}

/// Owns libyaml's event parser.
final class YAMLEvents {
  /// On the heap, as libyaml keeps a pointer to it.
  private let parser: UnsafeMutablePointer<yaml_parser_t>
  private let text: UnsafeMutableBufferPointer<UInt8>

  init(_ bytes: [UInt8]) {
    text = .allocate(capacity: max(bytes.count, 1))
    _ = text.update(fromContentsOf: bytes)
    parser = .allocate(capacity: 1)
    parser.initialize(to: yaml_parser_t())
    // Fails only without memory.
    precondition(yaml_parser_initialize(parser) == 1)
    yaml_parser_set_input_string(parser, text.baseAddress, bytes.count)
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
  }

  deinit {
    yaml_parser_delete(parser)
    parser.deallocate()
    text.deallocate()
  }

  func next() throws(SyntaxError) -> YAMLEvent {
    var event = yaml_event_t()
    guard yaml_parser_parse(parser, &event) == 1 else { throw failure() }
    defer { yaml_event_delete(&event) }
    let data = event.data
    let place = Place(event.start_mark)
    switch event.type {
    case YAML_STREAM_START_EVENT: return YAMLEvent(kind: .streamStart, place: place)
    case YAML_DOCUMENT_START_EVENT: return YAMLEvent(kind: .documentStart, place: place)
    case YAML_DOCUMENT_END_EVENT: return YAMLEvent(kind: .documentEnd, place: place)
    case YAML_ALIAS_EVENT:
      return YAMLEvent(kind: .alias(Self.string(data.alias.anchor) ?? ""), place: place)
    case YAML_SCALAR_EVENT:
      let scalar = data.scalar
      let value = String(decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length), as: UTF8.self)
      return YAMLEvent(
        kind: .scalar(value, plain: scalar.style == YAML_PLAIN_SCALAR_STYLE), place: place, anchor: Self.string(scalar.anchor),
        tag: Self.string(scalar.tag))
    case YAML_SEQUENCE_START_EVENT:
      let start = data.sequence_start
      return YAMLEvent(kind: .sequenceStart, place: place, anchor: Self.string(start.anchor), tag: Self.string(start.tag))
    case YAML_SEQUENCE_END_EVENT: return YAMLEvent(kind: .sequenceEnd, place: place)
    case YAML_MAPPING_START_EVENT:
      let start = data.mapping_start
      return YAMLEvent(kind: .mappingStart, place: place, anchor: Self.string(start.anchor), tag: Self.string(start.tag))
    case YAML_MAPPING_END_EVENT: return YAMLEvent(kind: .mappingEnd, place: place)
    default: return YAMLEvent(kind: .streamEnd, place: place)
    }
  }

  private static func string(_ text: UnsafeMutablePointer<yaml_char_t>?) -> String? {
    text.map { String(cString: $0) }
  }

  private func failure() -> SyntaxError {
    let problem = parser.pointee.problem.map { String(cString: $0) } ?? "out of memory"
    let mark = parser.pointee.problem_mark
    // Errors of libyaml's reader (control characters) have an offset instead of a mark.
    let place = parser.pointee.error == YAML_READER_ERROR ? place(ofByte: parser.pointee.problem_offset) : Place(mark)
    let context = parser.pointee.context.map { String(cString: $0) }
    return SyntaxError(
      place: place, message: hint(problem, at: place) ?? "not YAML: \(problem)\(context.map { " (\($0))" } ?? "")")
  }

  /// A clearer text than libyaml's for the most common mistakes; nil for others.
  private func hint(_ problem: String, at place: Place) -> String? {
    let line = self.line(place.line)
    if line.prefix(while: { $0 == 0x20 || $0 == 0x09 }).contains(0x09) {
      return "a tab in the indentation; YAML needs spaces"
    }
    let column = place.column - 1
    if line.indices.contains(column), line[column] == UInt8(ascii: "\t") {
      return "a tab where YAML needs a space"
    }
    if parser.pointee.context.map({ String(cString: $0) }) == "while scanning an alias" {
      return "a value that begins with '*' needs quotes: \"*.example.com\""
    }
    return nil
  }

  private func line(_ number: Int) -> [UInt8] {
    var rest = text[...]
    for _ in 1..<max(number, 1) {
      guard let end = rest.firstIndex(of: 0x0a) else { return [] }
      rest = rest[(end + 1)...]
    }
    return Array(rest.prefix { $0 != 0x0a })
  }

  private func place(ofByte offset: Int) -> Place { Place(ofByte: offset, in: text) }
}

extension Place {
  fileprivate init(_ mark: yaml_mark_t) {
    self.init(line: Int(mark.line) + 1, column: Int(mark.column) + 1)
  }

  init(ofByte offset: Int, in text: some Collection<UInt8>) {
    var place = Place(line: 1, column: 1)
    for byte in text.prefix(offset) {
      if byte == 0x0a {
        place = Place(line: place.line + 1, column: 1)
      } else if byte & 0xc0 != 0x80 {
        place.column += 1
      }
    }
    self = place
  }
}
