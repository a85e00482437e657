import CSystem
import DemoServers

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
      step("An app asks the API. The proxy gets a token first.", "\(api)/hello", expecting: 200, tokenRequests: 1),
      step(
        "An app brings a token of its own. It is replaced by the one that is there.", "\(api)/hello",
        field: "Authorization: Bearer guess", expecting: 200, tokenRequests: 1),
      step("The token is revoked before its time ...", "\(api)/revoke", expecting: 200, tokenRequests: 1),
      step(
        "... and the next app sees nothing of it: the 401 stays between proxy and API.", "\(api)/hello", expecting: 200,
        tokenRequests: 2),
      refreshAhead(),
      crowd("Three apps ask at once, and none of them has to wait.", count: 3, tokenRequests: 3),
      step(
        "An app asks for what the configuration does not have.", "http://other.demo.internal/", expecting: 403, tokenRequests: 3
      ),
    ]
    let isGood = results.allSatisfy { $0 }
    Terminal.print(
      isGood
        ? "\nAll went well: \(world.narrator.tokenRequests) tokens were fetched, and no app ever saw one."
        : "\nSomething went otherwise: see above.")
    return isGood
  }

  private func step(_ title: String, _ url: String, field: String? = nil, expecting status: Int, tokenRequests: Int) -> Bool {
    Terminal.print("\n\(title)\n\n  $ curl \(field.map { "-H '\($0)' " } ?? "")\(url)\n")
    let reply = world.ask([url], fields: field.map { "\($0)\r\n" } ?? "")[0]
    world.narrator.tell("app", "\(reply.status): \(reply.body.split(separator: "\n").joined(separator: " "))")
    return judge([reply], status, tokenRequests)
  }

  private func refreshAhead() -> Bool {
    let before = world.narrator.tokenRequests
    Terminal.print("\nBefore a token ends, the proxy fetches the next one by itself.\n\n  $ sleep \(DemoWorld.tokenLifetime)\n")
    for _ in 0..<DemoWorld.tokenLifetime * 100 where world.narrator.tokenRequests == before { usleep(10_000) }
    return judge([], 200, before + 1)
  }

  private func crowd(_ title: String, count: Int, tokenRequests: Int) -> Bool {
    Terminal.print("\n\(title)\n")
    for number in 1...count { Terminal.print("  $ curl \(api)/\(number)\(number < count ? " &" : "")") }
    Terminal.print("")
    return judge(world.ask((1...count).map { "\(api)/\($0)" }), 200, tokenRequests)
  }

  private func judge(_ replies: [TinyClient.Reply], _ status: Int, _ tokenRequests: Int) -> Bool {
    var isGood = true
    for reply in replies where reply.status != status {
      world.narrator.tell("app", "got \(reply.status) and not \(status)")
      isGood = false
    }
    if world.narrator.tokenRequests != tokenRequests {
      world.narrator.tell("token server", "was asked \(world.narrator.tokenRequests) times and not \(tokenRequests)")
      isGood = false
    }
    return isGood
  }
}
