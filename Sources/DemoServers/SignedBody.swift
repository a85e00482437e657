import Crypto
import SmallHTTP

/// A request's body that its signature covers, checked chunk by chunk where it is signed so.
struct SignedBody {
  private static let emptyHash = Hexadecimal.text(SHA256.digest([UInt8]()))

  /// Without the frames of chunks.
  private(set) var data: [UInt8] = []
  /// How it was signed, for people.
  private(set) var text = ""

  /// - Parameters:
  ///   - payload: X-Amz-Content-Sha256.
  ///   - seed: the request's own signature, which the first chunk's covers.
  init(
    _ request: ServedRequest, _ payload: String, _ signer: ChainedSignature, seed: String
  ) throws(SignatureProblem) {
    switch payload {
    case "UNSIGNED-PAYLOAD":
      data = request.body
      text = "an unsigned body"
    case "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER":
      try readChunks(request.body, signer, seed, hasTrailer: payload.hasSuffix("TRAILER"))
      guard request["x-amz-decoded-content-length"] == "\(data.count)" else {
        throw SignatureProblem(text: "chunks that do not add up")
      }
    default:
      data = request.body
      text = "a hashed body"
      guard payload == Hexadecimal.text(SHA256.digest(data)) else {
        throw SignatureProblem(code: "XAmzContentSHA256Mismatch", text: "a body with another hash")
      }
    }
  }

  private mutating func readChunks(
    _ body: [UInt8], _ signer: ChainedSignature, _ seed: String, hasTrailer: Bool
  ) throws(SignatureProblem) {
    var rest = body[...]
    var previous = seed
    var count = 0
    while true {
      let head = try Self.line(&rest).split(separator: ";chunk-signature=")
      guard head.count == 2, let size = Int(head[0], radix: 16), size >= 0, size <= rest.count else {
        throw SignatureProblem(text: "a chunk without a signature")
      }
      let piece = rest.prefix(size)
      rest = rest.dropFirst(size)
      count += 1
      let hash = Hexadecimal.text(SHA256.digest(Array(piece)))
      previous = try signer.sign("AWS4-HMAC-SHA256-PAYLOAD", [previous, Self.emptyHash, hash])
      guard head[1] == previous else { throw SignatureProblem(text: "a wrong signature of chunk \(count)") }
      if size == 0 { break }
      data += piece
      guard try Self.line(&rest).isEmpty else { throw SignatureProblem(text: "a chunk of another size") }
    }
    text = "\(count) signed chunks"
    if hasTrailer { try checkTrailer(&rest, signer, previous) }
    guard try Self.line(&rest).isEmpty, rest.isEmpty else { throw SignatureProblem(text: "bytes behind the last chunk") }
  }

  private mutating func checkTrailer(
    _ rest: inout ArraySlice<UInt8>, _ signer: ChainedSignature, _ previous: String
  ) throws(SignatureProblem) {
    let last = "x-amz-trailer-signature:"
    var trailers = ""
    while true {
      let line = try Self.line(&rest)
      if line.hasPrefix(last) {
        let hash = Hexadecimal.text(SHA256.digest(Array(trailers.utf8)))
        guard try line.dropFirst(last.count) == signer.sign("AWS4-HMAC-SHA256-TRAILER", [previous, hash]) else {
          throw SignatureProblem(text: "a wrong signature of the trailer")
        }
        text += " and a trailer"
        return
      }
      guard line.contains(":") else { throw SignatureProblem(text: "a trailer without a signature") }
      trailers += line + "\n"
    }
  }

  /// Takes a line with its CRLF.
  private static func line(_ rest: inout ArraySlice<UInt8>) throws(SignatureProblem) -> String {
    guard let end = rest.firstIndex(of: 0x0a), end > rest.startIndex, rest[end - 1] == 0x0d else {
      throw SignatureProblem(text: "chunks that end early")
    }
    defer { rest = rest[(end + 1)...] }
    return String(decoding: rest[..<(end - 1)], as: UTF8.self)
  }
}
