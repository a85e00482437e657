import Foundation
import Testing

/// Answers over HTTP/2, as HTTP/1.1 and 1.0 apps know answers.
@Suite struct HTTP2AnswerTests {
  @Test func `names and reasons are spelled as old apps know them`() throws {
    let origin = try HTTP2Origin()
    let fields = [
      [":status", "404"], ["content-type", "text/plain"], ["etag", "\"x\""], ["www-authenticate", "Basic"],
      ["x-custom-thing", "a"], ["content-length", "2"],
    ]
    try origin.script("names", [.head(fields), .last("ok")])
    try withProxy(origin.configuration()) { proxy throws in
      let answer = try proxy.ask("http://api.test/?id=names")
      #expect(answer.head.hasPrefix("HTTP/1.1 404 Not Found\r\n"), "\(answer.head)")
      for line in [
        "Content-Type: text/plain", "ETag: \"x\"", "WWW-Authenticate: Basic", "X-Custom-Thing: a", "Content-Length: 2",
      ] {
        #expect(answer.head.contains("\r\n\(line)\r\n"), "\(line) in \(answer.head)")
      }
      #expect(answer.text == "ok")
    }
  }

  @Test func `without a length it is chunked, to 1_0 it ends with the connection`() throws {
    let origin = try HTTP2Origin()
    try origin.script("open", [.head([[":status", "200"]]), .data("one"), .data("two"), .end([])])
    try withProxy(origin.configuration()) { proxy throws in
      let answer = try proxy.ask("http://api.test/?id=open")
      #expect(answer.isChunked && answer.text == "onetwo" && answer.trailers.isEmpty, "\(answer.head)")
      let old = try proxy.connect()
      try old.send("GET http://api.test/?id=open HTTP/1.0\r\n\r\n")
      let other = try old.readAnswer()
      #expect(!other.isChunked && other["Content-Length"] == nil && other.text == "onetwo", "\(other.head)")
    }
  }

  @Test func `trailers follow the last chunk, announced or not, and nothing else`() throws {
    let origin = try HTTP2Origin()
    try origin.script("sum", [.head([[":status", "200"]]), .data("body"), .end([["x-sum", "4"], ["grpc-status", "0"]])])
    try origin.script("empty", [.head([[":status", "200"]]), .end([["x-sum", "0"]])])
    try origin.script(
      "long", [.head([[":status", "200"], ["content-length", "4"]]), .data("body"), .end([["x-sum", "4"]])])
    try withProxy(origin.configuration()) { proxy throws in
      let client = try proxy.connect()
      for _ in 0..<2 {
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=sum"))
        let answer = try client.readAnswer()
        #expect(answer.text == "body" && answer.trailers.map(\.value) == ["4", "0"], "\(answer.trailers)")
        #expect(answer.trailers.first?.name == "X-Sum", "\(answer.trailers)")
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=empty"))
        let empty = try client.readAnswer()
        #expect(empty.text.isEmpty && empty.trailers.map(\.value) == ["0"])
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=long"))
        let long = try client.readAnswer()
        #expect(long["Content-Length"] == "4" && long.text == "body" && long.trailers.isEmpty)
      }
      let old = try proxy.connect()
      try old.send("GET http://api.test/?id=sum HTTP/1.0\r\n\r\n")
      #expect(try old.readAnswer().text == "body")
    }
  }

  @Test func `interim answers are relayed, to 1_0 none`() throws {
    let origin = try HTTP2Origin()
    try origin.script(
      "hint", [.head([[":status", "103"], ["link", "</a>"]]), .head([[":status", "102"]])] + HTTP2Origin.Step.answer("ok"))
    try withProxy(origin.configuration()) { proxy throws in
      let answer = try proxy.ask("http://api.test/?id=hint")
      #expect(answer.text == "ok" && answer.interim.map(\.status) == [103, 102], "\(answer.interim.map(\.head))")
      #expect(answer.interim.first?["Link"] == "</a>" && answer.interim.first?["Via"] == "2 authproxy")
      let old = try proxy.connect()
      try old.send("GET http://api.test/?id=hint HTTP/1.0\r\n\r\n")
      #expect(try old.readAnswer().interim.isEmpty)
    }
  }

  @Test func `DATA passes as it comes`() throws {
    let origin = try HTTP2Origin()
    try origin.script("slow", [.head([[":status", "200"]]), .data("one"), .gate("next"), .last("two")])
    try withProxy(origin.configuration()) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=slow"))
      #expect(try client.readHead().status == 200)
      #expect(try client.readChunk() == "one")
      try origin.open("next")
      #expect(try client.readChunk() == "two")
    }
  }

  @Test func `a large body arrives whole, with and without a length`() throws {
    let origin = try HTTP2Origin()
    let size = 3_000_001
    try origin.script("long", [.head([[":status", "200"], ["content-length", "\(size)"]]), .zeros(size), .end([])])
    try origin.script("open", [.head([[":status", "200"]]), .zeros(size), .end([["x-sum", "1"]])])
    try withProxy(origin.configuration()) { proxy throws in
      for name in ["long", "open"] {
        let answer = try proxy.ask("http://api.test/?id=\(name)")
        #expect(answer.body.count == size && answer.body.allSatisfy { $0 == 0 }, "\(name): \(answer.body.count)")
      }
    }
  }

  @Test func `421 is relayed, and logged once`() throws {
    let origin = try HTTP2Origin()
    try origin.script("wrong", [.only([[":status", "421"]])])
    try withProxy(origin.configuration()) { proxy throws in
      for _ in 0..<2 { #expect(try proxy.ask("http://api.test/?id=wrong").status == 421) }
      #expect(proxy.process.awaitLine(where: { $0.contains("421") && $0.contains("host_header") }) != nil)
      #expect(proxy.process.lines.count { $0.contains("host_header") } == 1)
    }
  }
}
