import Foundation
import Testing

/// Trailers behind a body with a length: HTTP/2 has them, HTTP/1.1 does not.
@Suite struct HTTP2UploadTrailersTests {
  private struct Upload: Encodable {
    let fields: [[String]]
    let data: [String]
    /// The proxy has taken the data before the trailers are sent.
    let settles: Bool
    let trailers: [[String]]
  }

  /// A POST of an app, in so many pieces.
  private static func upload(
    _ path: String, _ data: [String], settles: Bool = false, _ trailers: [[String]]
  ) throws -> [String] {
    let length = data.reduce(0) { $0 + $1.utf8.count }
    let fields = HTTP2App.get(path, [":method": "POST"], [["content-length", "\(length)"]])
    let upload = Upload(fields: fields, data: data, settles: settles, trailers: trailers)
    return ["--upload", String(decoding: try JSONEncoder().encode(upload), as: UTF8.self)]
  }

  private static let credentials = "\ncredentials: {api: {header: {name: X-Key, value: 5ecret-key}}}"

  @Test func `reach an origin over HTTP/2, but for those that a head would not have`() throws {
    let origin = try HTTP2Origin()
    let rules = "request_headers: {remove: [X-Gone]}"
    try withProxy(origin.interception("credential: api", rules) + Self.credentials) { proxy throws in
      let trailers = [["x-sum", "5"], ["x-key", "mine"], ["x-gone", "1"], ["content-type", "a/b"]]
      let options =
        try Self.upload("/?id=one", ["hello"], trailers) + Self.upload("/?id=many", ["he", "l", "l", "o"], trailers)
        + Self.upload("/?id=none", ["hello"], [["x-gone", "1"]])
      let app = try HTTP2App.start(proxy, [], options + ["--until-answered"]).awaitApp()
      for stream in [1, 3, 5] { #expect(app.head(stream)[":status"] == "200", "\(app)") }
      let log = try origin.tell()
      for (id, expected) in [("one", ["x-sum"]), ("many", ["x-sum"]), ("none", [])] {
        let request = try #require(log.of(id).first)
        #expect(request.body == "hello" && request.ended && request["content-length"] == "5", "\(request)")
        #expect(request.trailers.map(\.name) == expected && request.trailers.allSatisfy(\.isNeverIndexed), "\(request)")
      }
    }
  }

  @Test func `are sent again with their body`() throws {
    let origin = try HTTP2Origin()
    try origin.script("again", [.awaitEnd, .reset(7)], HTTP2Origin.Step.answer("ok"))
    try withProxy(origin.interception()) { proxy throws in
      let options = try Self.upload("/?id=again", ["he", "llo"], [["x-sum", "5"]])
      let app = try HTTP2App.start(proxy, [], options + ["--until-answered"]).awaitApp()
      #expect(app.head(1)[":status"] == "200", "\(app)")
      let requests = try origin.tell().of("again")
      #expect(requests.map(\.body) == ["hello", "hello"])
      #expect(requests.map { $0.trailers.map(\.value) } == [["5"], ["5"]])
    }
  }

  @Test func `follow a redirect, but for those that another entry's head would not have`() throws {
    let (origin, other) = (try HTTP2Origin(), try HTTP2Origin())
    try origin.script("go", [.awaitEnd, .only([[":status", "307"], ["location", other.url + "/?id=there"]])])
    let two =
      "\n  - {name: two, match: https://two.test, origin: \(other.url), http_version: auto, request_headers: {remove: [X-Gone]}}"
    let text = origin.interception("redirects: {follow: 2, methods: [POST], to: [two]}", "credential: api") + two
    try withProxy(text + Self.credentials) { proxy throws in
      let trailers = [
        ["x-sum", "5"], ["x-gone", "1"], ["x-key", "mine"], ["referer", "https://api.test/"], ["origin", "x"],
      ]
      let app = try HTTP2App.start(proxy, [], try Self.upload("/?id=go", ["he", "llo"], trailers) + ["--until-answered"])
        .awaitApp()
      #expect(app.head(1)[":status"] == "200", "\(app)")
      for (origin, id, expected) in [(origin, "go", ["x-sum", "x-gone", "referer", "origin"]), (other, "there", ["x-sum"])] {
        let request = try #require(try origin.tell().of(id).first)
        #expect(request.body == "hello" && request.trailers.map(\.name) == expected, "\(request)")
      }
    }
  }

  @Test func `are awaited behind a body that is read whole before it is sent`() throws {
    let origin = try HTTP2Origin()
    let hmac = #"hmac: {key: s1-5ecret, message: "{body_sha256}", values: {}, fields: {X-Sign: "{signature}"}}"#
    try withProxy(origin.interception("credential: api") + "\ncredentials: {api: {\(hmac)}}") { proxy throws in
      // A connection is there, so nothing else holds the upload up.
      #expect(try HTTP2App(proxy, [HTTP2App.get("/")], "--until-answered").head(1)[":status"] == "200")
      let options = try Self.upload("/?id=late", ["he", "llo"], settles: true, [["x-sum", "5"], ["x-sign", "mine"]])
      let app = try HTTP2App.start(proxy, [], options + ["--until-answered"]).awaitApp()
      #expect(app.head(1)[":status"] == "200", "\(app)")
      let request = try #require(try origin.tell().of("late").first)
      #expect(request.body == "hello" && request.trailers.map(\.name) == ["x-sum"], "\(request)")
    }
  }

  @Test func `are dropped where the origin speaks 1_1`() throws {
    let origin = try HTTP2Origin(alpn: ["http/1.1"])
    try withProxy(origin.interception()) { proxy throws in
      let options = try Self.upload("/", ["he", "llo"], [["x-sum", "5"]])
      let app = try HTTP2App.start(proxy, [], options + ["--until-answered"]).awaitApp()
      #expect(app.head(1)[":status"] == "200", "\(app)")
      #expect(try origin.tell().requests.map(\.body) == ["hello"])
    }
  }
}
