import ArgumentParser
import CSystem
import EventIO
import Glibc
import JSON
import Operations
import SmallHTTP

struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show what a running proxy does: its upstreams, credentials, and what needs somebody.",
    discussion: """
      Asks the admin listener, which must expose `status`: by default on loopback and unix sockets. Exit status: 0 if it \
      answered, else 1.
      """)

  @Option(name: .long, help: "The configuration file of the running proxy.", completion: .file())
  var config = "proxy.conf"

  @Flag(name: .long, help: "Show it again each second, with requests per second, until Control-C.")
  var watch = false

  @Flag(name: .long, help: "Print the page /status as it is: one line of JSON.")
  var json = false

  private static let path = "/status"

  func validate() throws {
    if watch, json { throw ValidationError("--watch and --json exclude each other.") }
  }

  func run() throws {
    let address = try AdminListener.address(config)
    guard watch else {
      switch Self.read(address) {
      case .failure(let error):
        Terminal.error("authproxy: \(error)")
        throw ExitCode(1)
      case .success(let page): Terminal.print(json ? page.text : Self.lines(of: page).joined(separator: "\n"))
      }
      return
    }
    Self.watch(address)
  }

  // MARK: Reading

  private struct Reading {
    let text: String
    let value: JSONValue
    /// Nanoseconds of the monotonic clock.
    let time: Int64
  }

  private struct Failure: Error, CustomStringConvertible { let description: String }

  private static func read(_ address: Address) -> Result<Reading, Failure> {
    let place = "\(address)\(path)"
    switch HTTPClient.get(path, from: address, milliseconds: 5_000) {
    case .failure(let error): return .failure(Failure(description: "\(place): \(error)"))
    case .success(let answer) where answer.status != 200:
      let advice = answer.status == 404 ? " (see 'status' in admin.expose)" : ""
      return .failure(Failure(description: "\(place): the answer has status \(answer.status)\(advice)"))
    case .success(let answer):
      guard let value = try? JSONParser.parse(answer.body), StatusText(value, width: 80, isColoured: false) != nil else {
        return .failure(Failure(description: "\(place): that is not an authproxy's page: does another program listen there?"))
      }
      // Written anew: one line, with control characters escaped.
      return .success(Reading(text: String(decoding: value.text, as: UTF8.self), value: value, time: csys_monotonic()))
    }
  }

  // MARK: Showing

  private static func lines(of page: Reading, since earlier: Reading? = nil) -> [String] {
    let before = earlier.map { StatusText.Earlier($0.value, seconds: Double(page.time - $0.time) / 1e9) }
    let isTerminal = isatty(1) == 1
    let isColoured = isTerminal && Environment.current["NO_COLOR", default: ""].isEmpty
    // A file or a pipe breaks no lines.
    let width = Int(csys_terminal_columns(1))
    let text = StatusText(page.value, since: before, width: width > 0 ? width : .max, isColoured: isColoured)
    return text?.lines ?? []
  }

  private static func watch(_ address: Address) {
    // To the top left corner, and nothing below it (ECMA-48, CUP and ED).
    let home = isatty(1) == 1 ? "\u{1b}[H\u{1b}[J" : ""
    var earlier: Reading?
    while true {
      switch read(address) {
      case .success(let page):
        Terminal.print(home + lines(of: page, since: earlier).joined(separator: "\n") + (home.isEmpty ? "\n" : ""))
        earlier = page
      case .failure(let error):
        Terminal.print("\(home)\(error); asking again")
        earlier = nil
      }
      _ = usleep(1_000_000)
    }
  }
}
