import CSystem
import DemoServers
import SmallHTTP

/// `demo --once`: makes the requests that the demo proposes, and compares what comes with what should.
struct DemoTour {
  private let world: DemoWorld
  private let api = "http://\(DemoConfiguration.api)"

  init(_ world: DemoWorld) { self.world = world }

  /// - Returns: whether everything went as it should.
  func run() -> Bool {
    Terminal.print(
      """
      An API wants a bearer token; its token server gives such as are good for \(DemoWorld.tokenLifetime) s.
      authproxy knows both. Apps know neither, and have this in their environment:

        http_proxy=http://\(world.proxy)
      """)
    let results = [
      step("An app asks the API. The proxy gets a token first.", "\(api)/hello", expecting: 200),
      step(
        "An app brings a token of its own. It is replaced by the one that is there.", "\(api)/hello",
        field: ("Authorization", "Bearer guess"), expecting: 200),
      step("The token is revoked before its time ...", "\(api)/revoke", expecting: 200),
      step(
        "... and the next app sees nothing of it: the 401 stays between proxy and API.", "\(api)/hello", expecting: 200),
      refreshAhead(),
      crowd("Three apps ask at once, and none of them has to wait.", count: 3),
      step(
        "A server's certificate was revoked. It gets no request, and no token.",
        "http://\(DemoConfiguration.retired)/hello", expecting: 502),
      step(
        "An app asks for what the configuration does not have.", "http://other.demo.internal/", expecting: 403
      ),
    ]
    let isGood = results.allSatisfy { $0 }
    Terminal.print(
      isGood
        ? "\nAll went well: \(world.narrator.tokenRequests) tokens were fetched, and no app ever saw one."
        : "\nSomething went otherwise: see above.")
    return isGood
  }

  private func step(_ title: String, _ url: String, field: (name: String, value: String)? = nil, expecting status: Int) -> Bool
  {
    Terminal.print("\n\(title)\n\n  $ curl \(field.map { "-H '\($0.name): \($0.value)' " } ?? "")\(url)\n")
    let reply = world.ask([url], fields: field.map { [$0] } ?? [])[0]
    world.narrator.tell("app", "\(reply.status): \(reply.text.split(separator: "\n").joined(separator: " "))")
    return judge([reply], status)
  }

  /// Half of a token's life before its end at the latest; twice that is patience with a busy machine.
  private func refreshAhead() -> Bool {
    Terminal.print("\nBefore a token ends, the proxy fetches the next one by itself.\n\n  $ sleep \(DemoWorld.tokenLifetime)\n")
    let before = world.narrator.tokenRequests
    for _ in 0..<DemoWorld.tokenLifetime * 100 where world.narrator.tokenRequests == before { usleep(10_000) }
    if world.narrator.tokenRequests > before { return true }
    world.narrator.tell("token server", "was not asked")
    return false
  }

  private func crowd(_ title: String, count: Int) -> Bool {
    Terminal.print("\n\(title)\n")
    for number in 1...count { Terminal.print("  $ curl \(api)/\(number)\(number < count ? " &" : "")") }
    Terminal.print("")
    return judge(world.ask((1...count).map { "\(api)/\($0)" }), 200)
  }

  private func judge(_ replies: [HTTPClient.Reply], _ status: Int) -> Bool {
    for reply in replies where reply.status != status { world.narrator.tell("app", "got \(reply.status) and not \(status)") }
    return replies.allSatisfy { $0.status == status }
  }
}
