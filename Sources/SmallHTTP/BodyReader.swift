import HTTPWire

/// Collects a message's body from received bytes.
struct BodyReader {
  enum Outcome {
    case more
    case done
    case tooLarge
    case malformed(ChunkedError)
  }

  let framing: BodyFraming
  let limit: Int
  private(set) var body: [UInt8] = []
  private var decoder = ChunkedDecoder()

  /// - Parameter limit: bytes.
  init(_ framing: BodyFraming, limit: Int) {
    self.framing = framing
    self.limit = limit
  }

  /// - Parameter inbound: removes the body's bytes from it.
  mutating func take(from inbound: inout [UInt8]) -> Outcome {
    switch framing {
    case .none: return .done
    case .length(let length):
      guard length <= limit else { return .tooLarge }
      let count = min(inbound.count, Int(length) - body.count)
      body += inbound.prefix(count)
      inbound.removeFirst(count)
      return body.count == Int(length) ? .done : .more
    case .chunked: return takeChunks(from: &inbound)
    case .untilClose:
      body += inbound
      inbound.removeAll()
      return body.count <= limit ? .more : .tooLarge
    }
  }

  private mutating func takeChunks(from inbound: inout [UInt8]) -> Outcome {
    while !inbound.isEmpty {
      let decoded = inbound.withUnsafeMutableBytes { bytes -> Result<ChunkedDecoder.Output, ChunkedError> in
        do throws(ChunkedError) { return .success(try decoder.decode(bytes)) } catch { return .failure(error) }
      }
      switch decoded {
      case .failure(let error): return .malformed(error)
      case .success(let output):
        body += inbound[output.payload.start..<output.payload.end]
        inbound.removeFirst(output.consumed)
        if body.count > limit { return .tooLarge }
        if output.state == .done { return .done }
        if output.consumed == 0 { return .more }
      }
    }
    return .more
  }
}
