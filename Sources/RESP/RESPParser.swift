/// Reads values of RESP3 from bytes that come in any pieces. No byte is looked at twice, and what a peer can make it hold is bounded.
public struct RESPParser: Sendable {
  /// Of one value with everything in it, and the attributes before it.
  public struct Limits: Sendable {
    public var bytes = 1 << 20
    /// A scalar has depth 0.
    public var depth = 16
    /// Elements of all aggregates. A map's entry counts twice.
    public var values = 16_384
    public init() {}
  }

  private enum State {
    case type
    /// After a type, up to CR LF.
    case line(Kind)
    /// A string of so many bytes, and CR LF.
    case string(Kind, Int)
  }

  private enum Kind: UInt8 {
    case simple = 0x2b  // +
    case error = 0x2d  // -
    case integer = 0x3a  // :
    case bulk = 0x24  // $
    case array = 0x2a  // *
    case null = 0x5f  // _
    case boolean = 0x23  // #
    case double = 0x2c  // ,
    case bigNumber = 0x28  // (
    case blobError = 0x21  // !
    case verbatim = 0x3d  // =
    case map = 0x25  // %
    case set = 0x7e  // ~
    case attribute = 0x7c  // |
    case push = 0x3e  // >

    /// The line is a length or a number, and short.
    var hasShortLine: Bool {
      switch self {
      case .simple, .error, .bigNumber: false
      default: true
      }
    }
  }

  /// An aggregate whose elements are still coming.
  private struct Frame {
    var kind: Kind
    var count: Int
    var values: [RESPValue] = []
  }

  /// Parts of a streamed string, and the end of a streamed aggregate.
  private static let streamedParts: [UInt8] = [UInt8(ascii: ";"), UInt8(ascii: ".")]
  /// Longer than any 64-bit number, and than a double as servers write it.
  private static let shortLine = 64

  private let limits: Limits
  private var state = State.type
  private var stack: [Frame] = []
  /// Of the line or string that is read now.
  private var piece: [UInt8] = []
  private var bytesLeft: Int
  private var valuesLeft: Int
  private var whole: RESPValue?
  private var fault: RESPFault?

  public init(limits: Limits = Limits()) {
    self.limits = limits
    bytesLeft = limits.bytes
    valuesLeft = limits.values
  }

  /// Takes bytes up to the end of one value. After it has thrown, it throws the same again.
  /// - Returns: how many bytes were used, and the value if it is whole. nil: all bytes are used.
  public mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(RESPFault) -> (used: Int, value: RESPValue?) {
    if let fault { throw fault }
    var used = 0
    while used < bytes.count {
      do {
        used += try take(UnsafeRawBufferPointer(rebasing: bytes[used...]))
      } catch {
        fault = error
        throw error
      }
      guard let value = whole else { continue }
      whole = nil
      bytesLeft = limits.bytes
      valuesLeft = limits.values
      return (used, value)
    }
    return (used, nil)
  }

  // MARK: Pieces

  /// - Parameter bytes: not empty.
  /// - Returns: how many were used, at least one.
  private mutating func take(_ bytes: UnsafeRawBufferPointer) throws(RESPFault) -> Int {
    let count: Int
    switch state {
    case .type:
      guard let kind = Kind(rawValue: bytes[0]) else {
        throw Self.streamedParts.contains(bytes[0]) ? .streamed : .unknownType(bytes[0])
      }
      if kind == .push, !stack.isEmpty { throw .misplacedPush }
      state = .line(kind)
      try spend(1)
      return 1
    case .line(let kind):
      let end = bytes.firstIndex(of: 0x0a)
      count = end.map { $0 + 1 } ?? bytes.count
      try spend(count)
      if kind.hasShortLine, piece.count + count > Self.shortLine { throw .badLine }
      piece += bytes[..<count]
      if end != nil { try interpret(kind, try line()) }
    case .string(let kind, let length):
      count = min(bytes.count, length + 2 - piece.count)
      try spend(count)
      piece += bytes[..<count]
      if piece.count == length + 2 { complete(try string(kind)) }
    }
    return count
  }

  private mutating func spend(_ count: Int) throws(RESPFault) {
    bytesLeft -= count
    if bytesLeft < 0 { throw .tooLarge }
  }

  /// The line without its end.
  private mutating func line() throws(RESPFault) -> [UInt8] {
    piece.removeLast()
    guard piece.popLast() == 0x0d, !piece.contains(0x0d) else { throw .badLine }
    return takePiece()
  }

  private mutating func takePiece() -> [UInt8] {
    defer { piece = [] }
    return piece
  }

  private mutating func string(_ kind: Kind) throws(RESPFault) -> RESPValue {
    guard piece.popLast() == 0x0a, piece.popLast() == 0x0d else { throw .unendedString }
    let bytes = takePiece()
    switch kind {
    case .blobError: return .error(RESPError(bytes))
    case .verbatim:
      guard bytes.count >= 4, bytes[3] == UInt8(ascii: ":") else { throw .unendedString }
      return .verbatim(format: Array(bytes[..<3]), Array(bytes[4...]))
    default: return .bulk(bytes)
    }
  }

  // MARK: Values

  private mutating func interpret(_ kind: Kind, _ line: [UInt8]) throws(RESPFault) {
    switch kind {
    case .simple: complete(.simple(line))
    case .error: complete(.error(RESPError(line)))
    case .integer: complete(.integer(try RESPNumber.integer(line)))
    case .double: complete(.double(try RESPNumber.double(line)))
    case .bigNumber:
      guard RESPNumber.isInteger(line) else { throw .badNumber }
      complete(.bigNumber(line))
    case .null:
      guard line.isEmpty else { throw .badLine }
      complete(.null)
    case .boolean:
      guard line == Array("t".utf8) || line == Array("f".utf8) else { throw .badLine }
      complete(.boolean(line == Array("t".utf8)))
    case .bulk, .blobError, .verbatim:
      guard let length = try length(line, orNull: kind == .bulk) else { return complete(.null) }
      guard length <= bytesLeft - 2 else { throw .tooLarge }
      state = .string(kind, length)
    case .array, .set, .map, .attribute, .push:
      guard let count = try length(line, orNull: kind == .array) else { return complete(.null) }
      try open(kind, count)
    }
  }

  /// - Returns: nil: RESP2's null.
  private func length(_ line: [UInt8], orNull: Bool) throws(RESPFault) -> Int? {
    if line == [UInt8(ascii: "?")] { throw .streamed }
    if orNull, line == Array("-1".utf8) { return nil }
    guard let first = line.first, (0x30...0x39).contains(first), let length = Int(exactly: try RESPNumber.integer(line)) else {
      throw .badLength
    }
    return length
  }

  private mutating func open(_ kind: Kind, _ count: Int) throws(RESPFault) {
    guard stack.count < limits.depth else { throw .tooDeep }
    guard count <= valuesLeft else { throw .tooManyValues }
    let values = kind == .map || kind == .attribute ? 2 * count : count
    valuesLeft -= values
    guard valuesLeft >= 0 else { throw .tooManyValues }
    stack.append(Frame(kind: kind, count: values))
    state = .type
    if values == 0 { closeFrames() }
  }

  private mutating func complete(_ value: RESPValue) {
    state = .type
    guard !stack.isEmpty else {
      whole = value
      return
    }
    stack[stack.count - 1].values.append(value)
    closeFrames()
  }

  /// Closes the aggregates that have all their elements.
  private mutating func closeFrames() {
    while let top = stack.last, top.values.count == top.count {
      stack.removeLast()
      // It says something of the value that follows, which no reader here wants to know.
      if top.kind == .attribute { return }
      let value = Self.value(top)
      guard !stack.isEmpty else {
        whole = value
        return
      }
      stack[stack.count - 1].values.append(value)
    }
  }

  private static func value(_ frame: Frame) -> RESPValue {
    switch frame.kind {
    case .set: .set(frame.values)
    case .push: .push(frame.values)
    case .map:
      .map(
        stride(from: 0, to: frame.count, by: 2).map { RESPValue.Entry(key: frame.values[$0], value: frame.values[$0 + 1]) })
    default: .array(frame.values)
    }
  }
}
