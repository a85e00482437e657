/// Who takes a body line by line while it arrives. Its methods are called on the loop, outside of libcurl: they may start and cancel fetches.
public struct FetchStream {
  /// Bytes of a line; a longer one is a failure. As much may wait for the rest of its line.
  public var lineLimit: Int
  /// The head of a 2xx answer is there. Called once, before the first line.
  public var began: () -> Void
  /// A line without its line feed. What comes after the last line feed of a body is dropped: it was cut.
  public var line: ([UInt8]) -> Void

  public init(lineLimit: Int, began: @escaping () -> Void, line: @escaping ([UInt8]) -> Void) {
    self.lineLimit = lineLimit
    self.began = began
    self.line = line
  }
}

/// What of a stream has arrived, and is not delivered yet.
struct FetchLines {
  private var bytes: [UInt8] = []
  /// Where the unfinished line begins.
  private var tail = 0
  private var hasHead = false
  private var toldHead = false

  mutating func headArrived() { hasHead = true }

  /// - Returns: false: a line is longer than `limit`.
  mutating func append(_ more: UnsafeRawBufferPointer, limit: Int) -> Bool {
    var start = 0
    while let end = more[start...].firstIndex(of: UInt8(ascii: "\n")) {
      guard bytes.count - tail + end - start <= limit else { return false }
      bytes.append(contentsOf: more[start...end])
      tail = bytes.count
      start = end + 1
    }
    guard bytes.count - tail + more.count - start <= limit else { return false }
    bytes.append(contentsOf: more[start...])
    return true
  }

  var hasNews: Bool { hasHead && !toldHead || tail > 0 }

  /// What is to be told now: whether the answer has begun, and the whole lines.
  mutating func take() -> (began: Bool, lines: [[UInt8]]) {
    let began = hasHead && !toldHead
    toldHead = toldHead || began
    let lines = bytes[..<tail].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast().map(Array.init)
    bytes.removeFirst(tail)
    tail = 0
    return (began, lines)
  }
}
