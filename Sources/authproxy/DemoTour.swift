import CSystem
import DemoServers

/// `demo --once`: makes the requests that the demo proposes, and compares what comes with what should.
struct DemoTour {
  private let world: DemoWorld
  private let api = "http://\(DemoConfiguration.api)"

  init(_ world: DemoWorld) { self.world = world }

  /// - Returns: whether everything went as it should.
  func run() -> Bool {
    Terminal.print("authproxy listens on \(world.proxy); an API that wants a token is behind it.")
    let results = [
      step("An app asks the API. It has no token, and speaks clear HTTP to the proxy.", "\(api)/hello", expecting: 200),
      step(
        "An app sends a token of its own. It is replaced.", "\(api)/hello", field: "Authorization: Bearer guess", expecting: 200
      ),
      step("An app asks for what is not in the configuration.", "http://other.demo.internal/", expecting: 403),
    ]
    let isGood = results.allSatisfy { $0 }
    Terminal.print("\n" + (isGood ? "All as it should be: no app ever saw a token." : "Something went otherwise: see above."))
    return isGood
  }

  private func step(_ title: String, _ url: String, field: String? = nil, expecting status: Int) -> Bool {
    Terminal.print(
      "\n\(title)\n  $ export http_proxy=http://\(world.proxy)\n  $ curl \(field.map { "-H '\($0)' " } ?? "")\(url)\n")
    let reply = world.ask(url, fields: field.map { "\($0)\r\n" } ?? "")
    world.narrator.tell("app", "\(reply.status): \(reply.body.split(separator: "\n").joined(separator: " "))")
    if reply.status == status { return true }
    world.narrator.tell("app", "expected \(status)")
    return false
  }
}
