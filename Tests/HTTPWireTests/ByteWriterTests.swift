import HTTPWire
import Testing

@Suite("What is written")
struct ByteWriterTests {
  @Test("numbers come in decimal")
  func numbers() {
    for (number, decimal) in [(0, "0"), (9, "9"), (10, "10"), (255, "255"), (4096, "4096")] {
      #expect(written { $0.appendDecimal(number) } == decimal)
    }
    #expect(written { $0.appendDecimal(Int64.max) } == "9223372036854775807")
  }

  @Test("a head is written anew: kept fields in order and spelling, the framing stated once")
  func head() {
    var request = ParsedRequest(
      fields: "cOOkie:   a \r\nConnection: close\r\nContent-Length: 5, 5\r\nEmpty:\r\nCookie: b\r\nProxy-Connection: x")
    _ = request.forwarded()
    let text = request.bytes.withUnsafeBytes { bytes in
      written {
        $0.append(request.head.methodText, of: bytes)
        $0.append(" / HTTP/1.1\r\n")
        $0.append(fieldsOf: request.head.fields, in: bytes)
        $0.append(framing: .length(5))
        $0.appendField("Via", "1.1 authproxy")
        $0.appendCRLF()
      }
    }
    #expect(
      text
        == "GET / HTTP/1.1\r\nHost: h\r\ncOOkie: a\r\nEmpty: \r\nCookie: b\r\nContent-Length: 5\r\nVia: 1.1 authproxy\r\n\r\n")
    let size = request.bytes.withUnsafeBytes { bytes in written { $0.append(fieldsOf: request.head.fields, in: bytes) } }.utf8
      .count
    #expect(request.head.fields.keptSize == size)
  }

  @Test("a status line speaks our own version")
  func statusLine() {
    for (line, expected) in [
      ("HTTP/1.0 404 Not Found", "HTTP/1.1 404 Not Found\r\n"), ("HTTP/1.1 200", "HTTP/1.1 200 \r\n"),
      ("HTTP/1.1 200 ", "HTTP/1.1 200 \r\n"), ("HTTP/1.1 503 No\tway", "HTTP/1.1 503 No\tway\r\n"),
      ("HTTP/1.7 204 No Content", "HTTP/1.1 204 No Content\r\n"),
    ] {
      let response = ParsedResponse("\(line)\r\n\r\n")
      #expect(
        response.bytes.withUnsafeBytes { bytes in written { $0.append(statusLineOf: response.head, in: bytes) } } == expected)
    }
  }

  @Test("framing is a field, or nothing")
  func framing() {
    #expect(written { $0.append(framing: .chunked) } == "Transfer-Encoding: chunked\r\n")
    #expect(written { $0.append(framing: .length(0)) } == "Content-Length: 0\r\n")
    #expect(written { $0.append(framing: .none) } == "")
    #expect(written { $0.append(framing: .untilClose) } == "")
  }

  @Test("chunks are what the decoder takes")
  func chunks() {
    let body = written {
      for piece in ["a", String(repeating: "b", count: 300)] {
        $0.append(Array((String(piece.utf8.count, radix: 16) + "\r\n").utf8))
        $0.append(Array(piece.utf8))
        $0.appendCRLF()
      }
      $0.appendLastChunk()
    }
    let decoded = Decoded(body)
    #expect(decoded.isDone && decoded.text == "a" + String(repeating: "b", count: 300))
  }

  @Test("host names go out in lower case")
  func lowercased() {
    #expect(
      written { writer in Array("Ex-AMPLE.com[]@".utf8).withUnsafeBytes { writer.append(lowercased: $0) } } == "ex-ample.com[]@"
    )
  }

  @Test("goes behind what is there already")
  func continued() {
    withUnsafeTemporaryAllocation(byteCount: 4, alignment: 1) { buffer in
      buffer.copyBytes(from: [1, 2])
      var writer = ByteWriter(buffer, count: 2)
      writer.append(byte: 3)
      #expect(writer.remaining == 1)
      #expect(Array(writer.written) == [1, 2, 3])
    }
  }

  @Test("never goes past the memory's end")
  func full() async {
    await #expect(processExitsWith: .failure) {
      let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 3, alignment: 1)
      var writer = ByteWriter(buffer)
      writer.append("four")
    }
  }
}
