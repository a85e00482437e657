import HTTPWire
import Testing

/// A parsed request and its bytes.
struct ParsedRequest: ~Copyable {
  var head = RequestHead()
  let bytes: [UInt8]
  var outcome: HeadOutcome

  init(_ text: String, limit: Int = 1 << 16) { self.init(Array(text.utf8), limit: limit) }

  init(_ bytes: [UInt8], limit: Int = 1 << 16) {
    self.bytes = bytes
    outcome = .incomplete
    outcome = bytes.withUnsafeBytes { head.parse($0, limit: limit) }
  }

  /// `GET http://h/` with a Host and these header lines (CRLF between them).
  init(fields: String, method: String = "GET", version: String = "1.1") {
    self.init("\(method) http://h/ HTTP/\(version)\r\nHost: h\r\n\(fields)\r\n\r\n")
  }

  func text(_ slice: ByteSlice) -> String { bytes.withUnsafeBytes { String(decoding: slice.bytes(in: $0), as: UTF8.self) } }

  var framing: Result<BodyFraming, FramingError> {
    bytes.withUnsafeBytes { bytes in
      do throws(FramingError) { return .success(try head.framing(in: bytes)) } catch { return .failure(error) }
    }
  }
  var hostError: HeadError? {
    bytes.withUnsafeBytes { bytes in
      do throws(HeadError) {
        try head.checkHost(in: bytes)
        return nil
      } catch { return error }
    }
  }
  var target: Result<RequestTarget, HeadError> {
    bytes.withUnsafeBytes { bytes in
      do throws(HeadError) { return .success(try RequestTarget(of: head, in: bytes)) } catch { return .failure(error) }
    }
  }

  /// The names of the fields that are not dropped.
  mutating func forwarded(keepUpgrade: Bool = false) -> [String] {
    bytes.withUnsafeBytes { head.markHopByHop(in: $0, keepUpgrade: keepUpgrade) }
    return head.fields.filter { !$0.dropped }.map { text($0.name) }
  }
}

struct ParsedResponse: ~Copyable {
  var head = ResponseHead()
  let bytes: [UInt8]
  var outcome: HeadOutcome

  init(_ text: String, limit: Int = 1 << 16) { self.init(Array(text.utf8), limit: limit) }

  init(_ bytes: [UInt8], limit: Int = 1 << 16) {
    self.bytes = bytes
    outcome = .incomplete
    outcome = bytes.withUnsafeBytes { head.parse($0, limit: limit) }
  }

  init(status: String = "200 OK", fields: String, version: String = "1.1") {
    self.init("HTTP/\(version) \(status)\r\n\(fields)\r\n\r\n")
  }

  func text(_ slice: ByteSlice) -> String { bytes.withUnsafeBytes { String(decoding: slice.bytes(in: $0), as: UTF8.self) } }

  func framing(to method: HTTPWire.Method = .get) -> Result<BodyFraming, FramingError> {
    bytes.withUnsafeBytes { bytes in
      do throws(FramingError) { return .success(try head.framing(to: method, in: bytes)) } catch { return .failure(error) }
    }
  }
}

/// The writer's output as text.
func written(_ write: (inout ByteWriter) -> Void) -> String {
  withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
    var writer = ByteWriter(buffer)
    write(&writer)
    return String(decoding: writer.written, as: UTF8.self)
  }
}

/// Feeds a body to a decoder in pieces that end at the given offsets.
struct Decoded: Equatable {
  var payload: [UInt8] = []
  var trailers: [String] = []
  var isDone = false
  /// Number of input bytes of this body.
  var consumed = 0
  var error: ChunkedError?

  init(_ input: [UInt8], splitAt cuts: [Int] = [], trailerLimit: Int = 16 << 10) {
    var decoder = ChunkedDecoder(trailerLimit: trailerLimit)
    var start = 0
    for end in cuts + [input.count] where error == nil && !isDone {
      var piece = Array(input[start..<end])
      start = end
      piece.withUnsafeMutableBytes { bytes in
        do throws(ChunkedError) {
          let output = try decoder.decode(bytes)
          payload += output.payload.bytes(in: UnsafeRawBufferPointer(bytes))
          consumed += output.consumed
          isDone = output.state == .done
          if !isDone { #expect(output.consumed == bytes.count) }
        } catch { self.error = error }
      }
    }
    decoder.trailerBytes.withUnsafeBytes { bytes in
      trailers = decoder.trailers.map {
        ($0.dropped ? "-" : "") + String(decoding: $0.name.bytes(in: bytes), as: UTF8.self) + "="
          + String(decoding: $0.value.bytes(in: bytes), as: UTF8.self)
      }
    }
  }

  init(_ text: String, splitAt cuts: [Int] = [], trailerLimit: Int = 16 << 10) {
    self.init(Array(text.utf8), splitAt: cuts, trailerLimit: trailerLimit)
  }

  var text: String { String(decoding: payload, as: UTF8.self) }
}
