import ArgumentParser
import EventIO
import Files
import Settings
import TLS
import Trust

struct Pins: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pins",
    abstract: "Show the certificates of a server, and their pins.",
    discussion: """
      For each certificate: subject, expiry, whether it is part of the verified chain, and its SPKI pin, ready to paste into \
      `pinned_public_keys`. Then whether the server chooses HTTP/2. With --config, the way to the server is the configuration's: parents, `routes`, `hosts`, `bind`. Exit \
      status: 0 if the chain is verified and names the host, else 1.
      """)

  @Argument(help: ArgumentHelp("The server; the default port is 443.", valueName: "host[:port]"))
  var server: String

  @Option(
    name: .long, help: ArgumentHelp("The configuration file that says how the server is reached.", valueName: "file"),
    completion: .file())
  var config: String?

  @Option(
    name: .long, help: ArgumentHelp("Roots to use instead of the system's.", valueName: "file"), completion: .file())
  var caFile: String?

  @Option(name: .long, help: ArgumentHelp("How long to wait, in seconds.", valueName: "seconds"))
  var timeout = 10

  func validate() throws {
    guard (1...3600).contains(timeout) else { throw ValidationError("--timeout must be from 1 to 3600 seconds") }
  }

  func run() throws {
    let (host, port) = try place()
    let anchors = try anchors()
    let (outcome, limit) = (Handover<PinProbe.Outcome>(), timeout * 1000)
    try PinWays(config, to: host, port: port).run { worker, entry in
      PinProbe(host, port, anchors, worker.loop) { outcome.put($0) }
        .start(milliseconds: limit) { worker.look(at: host, port: port, of: entry, report: $0) }
    }
    switch outcome.take() {
    case .seen(let evidence, let parent, let alpn, let error):
      if let parent { Terminal.print("through the parent proxy \(parent)") }
      for line in PinReport.lines(evidence) { Terminal.print(line) }
      // After a failed handshake an absent choice says nothing.
      if error == nil || alpn != nil { Terminal.print("\n\(Describing.chosen(alpn))") }
      if let error { Terminal.error("\nauthproxy: \(server): TLS handshake failed: \(error)") }
      guard case .verified = evidence.chain, evidence.hostMatches else { throw ExitCode.failure }
    case .failed(let text):
      Terminal.error("authproxy: \(server): \(text)")
      throw ExitCode.failure
    }
  }

  private func place() throws -> (host: String, port: UInt16) {
    do {
      let (host, port) = try HostName.split(server)
      return (try HostName.normalized(host), port ?? 443)
    } catch { throw ValidationError("'\(server)' \(error)") }
  }

  private func anchors() throws -> AnchorStore {
    do {
      guard let caFile else { return try .systemRoots() }
      return try .certificates(Certificate.parse(pem: FileReading.read(caFile, limit: 16 << 20).bytes).map(\.der))
    } catch {
      Terminal.error("authproxy: \(caFile ?? "system roots"): \(error)")
      throw ExitCode.failure
    }
  }
}
