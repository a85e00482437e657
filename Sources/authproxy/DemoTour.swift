import CSystem
import Crypto
import DemoServers
import SmallHTTP

/// `demo --once`: makes the requests that the demo proposes, and compares the results with the expected ones.
struct DemoTour {
  private let world: DemoWorld
  private let api = "http://\(DemoConfiguration.api)"

  init(_ world: DemoWorld) { self.world = world }

  /// - Returns: whether every result was as expected.
  func run() -> Bool {
    Terminal.print(
      """
      An API requires a bearer token. Its token server issues tokens that are valid
      for \(DemoWorld.tokenLifetime) s. authproxy uses both. Apps know neither; they have this in their
      environment:

        http_proxy=http://\(world.proxy)
      """)
    let results = [
      step("An app sends a request. The proxy gets a token first.", "\(api)/hello", expecting: 200),
      step(
        "An app sends a token of its own. The proxy replaces it.", "\(api)/hello",
        field: ("Authorization", "Bearer guess"), expecting: 200),
      step("The server revokes the token before it expires ...", "\(api)/revoke", expecting: 200),
      step(
        "... and the next app does not notice: the proxy handles the 401 and retries.", "\(api)/hello", expecting: 200),
      refreshAhead(),
      crowd("Three apps send requests at once, and none of them has to wait.", count: 3),
      multiplexed(),
      step(
        "A camera wants no token but Digest. The proxy answers its challenge.", "http://\(DemoConfiguration.camera)/picture",
        expecting: 200),
      upload(),
      step(
        "The store has the text, without the frames of its chunks.", "http://\(DemoConfiguration.store)/note",
        expecting: 200, text: Self.note),
      prices(),
      step(
        "A server's certificate is revoked. The proxy sends it no request and no token.",
        "http://\(DemoConfiguration.retired)/hello", expecting: 502),
      step(
        "An app requests a host that the configuration does not list.", "http://other.demo.internal/", expecting: 403
      ),
    ]
    let isGood = results.allSatisfy { $0 }
    Terminal.print(
      isGood
        ? "\nEverything worked: the proxy fetched \(world.narrator.tokenRequests) tokens, and no app saw one."
        : "\nA result was not as expected: see above.")
    return isGood
  }

  /// - Parameters:
  ///   - shown: whether the field is; else it is the second client's password.
  ///   - text: of the answer; nil: any.
  private func step(
    _ title: String, _ url: String, field: (name: String, value: String)? = nil, shown: Bool = true, expecting status: Int,
    text: String? = nil
  ) -> Bool {
    let option = field.map { shown ? "-H '\($0.name): \($0.value)' " : "-U \(DemoConfiguration.secondClient):... " } ?? ""
    Terminal.print("\n\(title)\n\n  $ curl \(option)\(url)\n")
    let reply = world.ask([url], fields: field.map { [$0] } ?? [])[0]
    world.narrator.tell("app", "\(reply.status): \(reply.text.split(separator: "\n").joined(separator: " "))")
    guard let text, reply.text != text else { return judge([reply], status) }
    world.narrator.tell("app", "got another text")
    return false
  }

  private static let note = "a note in signed chunks"

  /// As an SDK of AWS does it that has no keys of its own.
  private func upload() -> Bool {
    let url = "http://\(DemoConfiguration.store)/note"
    Terminal.print(
      """

      A store speaks the language of AWS S3, and wants each chunk signed. The app
      has keys that mean nothing: the proxy signs request and chunks anew.

        $ (an upload to \(url) in signed chunks)

      """)
    let dummy = String(repeating: "0", count: 64)
    let chunks = [Self.note.prefix(9), Self.note.dropFirst(9), ""].map { piece in
      "\(String(piece.utf8.count, radix: 16));chunk-signature=\(dummy)\r\n\(piece)\r\n"
    }
    let fields = [
      (
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=NOKEY/20260101/eu-central-1/s3/aws4_request, SignedHeaders=host, Signature=\(dummy)"
      ), ("X-Amz-Content-Sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"), ("Content-Encoding", "aws-chunked"),
      ("X-Amz-Decoded-Content-Length", "\(Self.note.utf8.count)"),
    ]
    let reply = world.ask([url], fields: fields, sending: .put(Array(chunks.joined().utf8)))[0]
    world.narrator.tell("app", "\(reply.status): \(reply.text.split(separator: "\n").joined(separator: " "))")
    return judge([reply], 200)
  }

  /// Waits for the refresh, which is due at half of a token's lifetime; waits twice as long, as the machine may be busy.
  private func refreshAhead() -> Bool {
    Terminal.print("\nBefore a token expires, the proxy fetches the next one.\n\n  $ sleep \(DemoWorld.tokenLifetime)\n")
    let before = world.narrator.tokenRequests
    for _ in 0..<DemoWorld.tokenLifetime * 100 where world.narrator.tokenRequests == before { usleep(10_000) }
    if world.narrator.tokenRequests > before { return true }
    world.narrator.tell("token server", "got no request")
    return false
  }

  /// Answers that the API lets apps keep.
  private func prices() -> Bool {
    let url = "http://\(DemoConfiguration.prices)/prices"
    let login = String(
      decoding: Base64.encode(Array("\(DemoConfiguration.secondClient):\(world.configuration.secondPassword)".utf8)),
      as: UTF8.self)
    let count = 50
    Terminal.print("\nFifty apps ask for the prices at once. The API is asked once.\n\n  $ (\(count) times) curl \(url) &\n")
    let before = world.narrator.apiRequests
    let replies = world.narrator.crowded { world.ask(Array(repeating: url, count: count)) }
    let isOne = judge(replies, 200) && isAsked(1, since: before)
    let results = [
      isOne,
      asks(0) { step("An app asks later: the answer is stored.", url, expecting: 200, text: edition(1)) },
      asks(1) { change(url) },
      asks(1) { step("... and nobody reads the old ones any more.", url, expecting: 200, text: edition(2)) },
      asks(1) {
        step(
          "A second client has a store of its own.", url, field: ("Proxy-Authorization", "Basic \(login)"), shown: false,
          expecting: 200, text: edition(2))
      },
    ]
    return results.allSatisfy { $0 }
  }

  private func edition(_ number: Int) -> String { "{\"prices\":\"edition \(number)\"}\n" }

  private func change(_ url: String) -> Bool {
    Terminal.print("\nAn app changes the prices ...\n\n  $ curl -X POST -d x \(url)\n")
    return judge(world.ask([url], sending: .post([UInt8(ascii: "x")])), 200)
  }

  /// Whether the API has so many more requests after `body`.
  private func asks(_ count: Int, _ body: () -> Bool) -> Bool {
    let before = world.narrator.apiRequests
    return body() && isAsked(count, since: before)
  }

  private func isAsked(_ count: Int, since before: Int) -> Bool {
    let asked = world.narrator.apiRequests - before
    if asked == count { return true }
    world.narrator.tell("API", "was asked \(asked) times instead of \(count)")
    return false
  }

  private func crowd(_ title: String, count: Int) -> Bool {
    Terminal.print("\n\(title)\n")
    for number in 1...count { Terminal.print("  $ curl \(api)/\(number)\(number < count ? " &" : "")") }
    Terminal.print("")
    return judge(world.ask((1...count).map { "\(api)/\($0)" }), 200)
  }

  /// An API that speaks nothing but HTTP/2.
  private func multiplexed() -> Bool {
    let url = "http://\(DemoConfiguration.events)"
    let count = 6
    Terminal.print(
      """

      An API speaks HTTP/2 only. Apps need not know: \(count) of them ask at once, and one
      connection carries all of it.

        $ for n in $(seq \(count)); do curl \(url)/$n & done

      """)
    guard judge(world.ask((1...count).map { "\(url)/\($0)" }), 200) else { return false }
    if world.narrator.multiplexedConnections == 1 { return true }
    world.narrator.tell("events API", "has \(world.narrator.multiplexedConnections) connections")
    return false
  }

  private func judge(_ replies: [HTTPClient.Reply], _ status: Int) -> Bool {
    for reply in replies where reply.status != status { world.narrator.tell("app", "got \(reply.status) instead of \(status)") }
    return replies.allSatisfy { $0.status == status }
  }
}
