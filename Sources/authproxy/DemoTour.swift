import CSystem
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
      step(
        "A camera wants no token but Digest. The proxy answers its challenge.", "http://\(DemoConfiguration.camera)/picture",
        expecting: 200),
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

  private func step(_ title: String, _ url: String, field: (name: String, value: String)? = nil, expecting status: Int) -> Bool
  {
    Terminal.print("\n\(title)\n\n  $ curl \(field.map { "-H '\($0.name): \($0.value)' " } ?? "")\(url)\n")
    let reply = world.ask([url], fields: field.map { [$0] } ?? [])[0]
    world.narrator.tell("app", "\(reply.status): \(reply.text.split(separator: "\n").joined(separator: " "))")
    return judge([reply], status)
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

  private func crowd(_ title: String, count: Int) -> Bool {
    Terminal.print("\n\(title)\n")
    for number in 1...count { Terminal.print("  $ curl \(api)/\(number)\(number < count ? " &" : "")") }
    Terminal.print("")
    return judge(world.ask((1...count).map { "\(api)/\($0)" }), 200)
  }

  private func judge(_ replies: [HTTPClient.Reply], _ status: Int) -> Bool {
    for reply in replies where reply.status != status { world.narrator.tell("app", "got \(reply.status) instead of \(status)") }
    return replies.allSatisfy { $0.status == status }
  }
}
