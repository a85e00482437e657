@testable import Signing

/// A body that is no upload in signed chunks.
struct BadChunks: Sendable, CustomStringConvertible {
  let name: String
  let body: String
  let error: BodyTransformError
  var announced: Int64?
  var trailers: [String]?

  var description: String { name }

  private init(
    _ name: String, _ body: String, _ error: String, announced: Int64? = nil, trailers: [String]? = nil
  ) {
    self.name = name
    self.body = body
    self.error = .malformed(error)
    self.announced = announced
    self.trailers = trailers
  }

  private init(tooLarge name: String, _ body: String) {
    self.name = name
    self.body = body
    error = .tooLarge("a chunk is larger than 1 MiB")
  }

  private static let dead = String(repeating: "d", count: 64)
  private static let end = "0;chunk-signature=\(dead)\r\n"
  private static let one = "1;chunk-signature=\(dead)\r\na\r\n"
  private static let mark = "x-amz-trailer-signature:\(dead)\r\n"
  private static let noSize = "a chunk has no size"
  private static let noSignature = "a chunk has no signature"
  private static let notHex = "a chunk's signature is not 64 hexadecimal digits"
  private static let noCRLF = "no CRLF behind a chunk"
  private static let early = "it ends before the last chunk"

  static let all: [BadChunks] = [
    BadChunks("nothing", "", early),
    BadChunks("no last chunk", one, early),
    BadChunks("half a head", "1;chunk-sig", early),
    BadChunks("half the data", "5;chunk-signature=\(dead)\r\nab", early),
    BadChunks("no CRLF at the end", one + end, early),
    BadChunks("half a CRLF at the end", one + end + "\r", early),
    BadChunks("another CRLF at the end", one + end + "\n\n", "no CRLF behind the last chunk"),
    BadChunks("bytes behind the end", end + "\r\nx", "bytes behind the last chunk"),
    BadChunks("a second body", end + "\r\n" + one, "bytes behind the last chunk"),
    BadChunks("an empty size", ";chunk-signature=\(dead)\r\n", noSize),
    BadChunks("an empty line", "\r\n" + one, noSize),
    BadChunks("a negative size", "-1;chunk-signature=\(dead)\r\na\r\n", noSize),
    BadChunks("a size with a plus", "+1;chunk-signature=\(dead)\r\na\r\n", noSize),
    BadChunks("a size behind a space", " 1;chunk-signature=\(dead)\r\na\r\n", noSize),
    BadChunks("a size in 0x", "0x1;chunk-signature=\(dead)\r\na\r\n", noSignature),
    BadChunks("a size in front of a space", "1 ;chunk-signature=\(dead)\r\na\r\n", noSignature),
    BadChunks(
      "a size of 17 digits", "00000000000000001;chunk-signature=\(dead)\r\na\r\n", "a chunk's size has too many digits"),
    BadChunks(tooLarge: "a size of 64 bits", "ffffffffffffffff;chunk-signature=\(dead)\r\n"),
    BadChunks(tooLarge: "a size of 63 bits", "7fffffffffffffff;chunk-signature=\(dead)\r\n"),
    BadChunks(tooLarge: "a size of a byte over 1 MiB", "100001;chunk-signature=\(dead)\r\n"),
    BadChunks("no signature", "1\r\na\r\n", noSignature),
    BadChunks("another extension", "1;chunk-checksum=\(dead)\r\na\r\n", noSignature),
    BadChunks("an extension in capitals", "1;Chunk-Signature=\(dead)\r\na\r\n", noSignature),
    BadChunks("a signature of 63 digits", "1;chunk-signature=\(dead.dropLast())\r\na\r\n", notHex),
    BadChunks("a signature of 65 digits", "1;chunk-signature=\(dead)d\r\na\r\n", notHex),
    BadChunks(
      "a signature of SigV4A's length", "1;chunk-signature=\(dead)\(dead)\(dead)\r\na\r\n", "a chunk's head is too long"),
    BadChunks("a signature that is none", "1;chunk-signature=\(dead.dropLast())g\r\na\r\n", notHex),
    BadChunks("an extension behind the signature", "1;chunk-signature=\(dead);a\r\na\r\n", notHex),
    BadChunks("a head that ends with LF", "1;chunk-signature=\(dead)\na\r\n", notHex),
    BadChunks("a head without an end", String(repeating: "1", count: 200), "a chunk's head is too long"),
    BadChunks("no CRLF behind data", "1;chunk-signature=\(dead)\r\nab\r\n", noCRLF),
    BadChunks("LF behind data", "1;chunk-signature=\(dead)\r\na\n\n", noCRLF),
    BadChunks("CR and no LF behind data", "1;chunk-signature=\(dead)\r\na\r\r\n", noCRLF),
    BadChunks(
      "more data than announced", one + one + end + "\r\n", "more data than X-Amz-Decoded-Content-Length says", announced: 1),
    BadChunks("less data than announced", one + end + "\r\n", "less data than X-Amz-Decoded-Content-Length says", announced: 2),
    BadChunks("data, and none announced", one + end + "\r\n", "more data than X-Amz-Decoded-Content-Length says", announced: 0),
    BadChunks("trailers in the form without", end + "a:b\r\n\r\n", "no CRLF behind the last chunk"),
    BadChunks("no trailers in the form with them", end + "\r\n", "the trailers have no signature", trailers: ["a"]),
    BadChunks("trailers without a signature", end + "a:b\r\n\r\n", "the trailers have no signature", trailers: ["a"]),
    BadChunks(
      "an unknown trailer", end + "b:b\r\n" + mark + "\r\n", "a trailer that X-Amz-Trailer does not name", trailers: ["a"]),
    BadChunks(
      "a trailer twice", end + "a:b\r\na:b\r\n" + mark + "\r\n", "a trailer that X-Amz-Trailer does not name", trailers: ["a"]),
    BadChunks("a trailer without a name", end + ":b\r\n" + mark, "a trailer has no name", trailers: ["a"]),
    BadChunks("a trailer without a colon", end + "a\r\n" + mark, "a trailer has no name", trailers: ["a"]),
    BadChunks("a folded trailer", end + "a:b\r\n c:d\r\n" + mark, "a trailer's name is malformed", trailers: ["a"]),
    BadChunks(
      "a trailer behind the signature", end + mark + "a:b\r\n\r\n", "a trailer behind the trailers' signature", trailers: ["a"]),
    BadChunks("two signatures", end + mark + mark + "\r\n", "a trailer behind the trailers' signature", trailers: ["a"]),
    BadChunks(
      "a short signature of trailers", end + mark.replacing("dd\r\n", with: "d\r\n") + "\r\n",
      "the trailers' signature is not 64 hexadecimal digits", trailers: []),
    BadChunks(
      "a long signature of trailers", end + mark.replacing("dd\r\n", with: "ddd\r\n") + "\r\n",
      "the trailers' signature is not 64 hexadecimal digits", trailers: []),
    BadChunks("a blank line and LF", end + "a:b\n\n" + mark, "a bare LF in the trailers", trailers: ["a"]),
    BadChunks("a line behind LF", end + "a:b\n" + mark + "\r\n", "a bare LF in the trailers", trailers: ["a"]),
    BadChunks("no end of the trailers", end + mark, early, trailers: []),
    BadChunks(
      "trailers without an end", end + "a:" + String(repeating: "x", count: 20_000), "the trailers are too long",
      trailers: ["a"]),
  ]
}
