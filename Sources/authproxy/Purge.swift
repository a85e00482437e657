import ArgumentParser
import JSON
import SmallHTTP

struct Purge: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "purge",
    abstract: "Drop stored answers of a running proxy. Prints how many.",
    discussion: """
      Asks the admin listener, which must expose `purge`: by default on a unix socket only. Each option and URL narrows; without any,
      all answers go. Each replica has a store of its own.
      """)

  @Option(name: .long, help: "The configuration file of the running proxy.", completion: .file())
  var config = "proxy.conf"

  @Option(name: .long, help: "Only answers for this upstream, by its name.")
  var upstream: String?

  @Option(name: .long, help: "Only answers for this client of `share: client`: its name, address, or user id on a unix socket.")
  var client: String?

  @Argument(help: "As apps ask for it, such as http://api.example.com/v1/users; with * at its end, everything that begins so.")
  var url: String?

  /// A large store takes a second.
  private static let patience = 60_000

  func run() throws {
    let address = try AdminListener.address(config)
    var members: [JSONValue.Member] = []
    for (name, text) in [("url", url), ("upstream", upstream), ("client", client)] {
      if let text { members.append(.init(name: name, value: .string(text))) }
    }
    let path = "/cache/purge"
    let exchange = HTTPClient.ask(
      path, of: address, fields: [("Content-Type", "application/json")], sending: .post(JSONValue.object(members).text),
      milliseconds: Self.patience)
    switch exchange {
    case .failure(let error):
      Terminal.error("authproxy: \(address)\(path): \(error)")
      throw ExitCode(1)
    case .success(let reply):
      let answer = try? JSONParser.parse(reply.body)
      guard reply.status == 200, case .number(let number)? = answer?["purged"] else {
        let text = reply.text.hasSuffix("\n") ? String(reply.text.dropLast()) : reply.text
        Terminal.error("authproxy: \(address)\(path): \(reply.status): \(text)")
        throw ExitCode(1)
      }
      Terminal.print("purged \(number)")
    }
  }
}
