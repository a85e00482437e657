import ArgumentParser
import CSystem
import ConfigurationFile
import Dispatch
import EventIO
import Logging
import Operations
import Settings

struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve in the foreground. SIGHUP reloads, SIGTERM drains, SIGUSR1 reopens the log.")

  @Option(name: .long, help: "The configuration file.")
  var config: String

  func run() throws {
    let loaded = loadConfiguration(config)
    for diagnostic in loaded.diagnostics { Terminal.error("\(diagnostic)") }
    guard let settings = loaded.settings else { throw ExitStatus.badConfiguration }
    guard loaded.unbuilt.isEmpty else {
      for use in loaded.unbuilt {
        Terminal.error("\(config):\(use.place): error: \(use.keyPath): not built yet: \(use.feature)")
      }
      throw ExitStatus.badConfiguration
    }
    _ = csys_raise_descriptor_limit()
    let output: LogOutput
    do { output = try LogOutput(settings.log.destination) } catch {
      Terminal.error("\(error)")
      throw ExitStatus.badConfiguration
    }
    let service = Service(threads: Threads.count(settings.threads), output: output, log: settings.log)
    let addresses: [Address]
    do { addresses = try service.start(settings) } catch {
      Terminal.error("authproxy: \(error)")
      throw error.kind == .bind ? ExitStatus.cannotBind : ExitStatus.badConfiguration
    }
    service.logger.info("serving", metadata: ["addresses": .array(addresses.map { .string("\($0)") })])
    let signals = Signals()
    let path = config
    signals.on(SIGHUP) { @Sendable in Self.reload(path, service) }
    let drain = settings.timeouts.drain
    let ends = Endings()
    for number in [SIGTERM, SIGINT] {
      signals.on(number) { @Sendable in
        if ends.isSecond() { Process.exit() }
        service.logger.info("draining")
        service.drain(deadline: drain) {
          service.logger.info("stopped")
          service.flushLogs()
          Process.exit()
        }
      }
    }
    signals.on(SIGUSR1) { @Sendable in
      do { try service.output.reopen() } catch {
        service.logger.error("the log was not reopened", metadata: ["error": "\(error)"])
      }
    }
    withExtendedLifetime(signals) { dispatchMain() }
  }

  private static func reload(_ path: String, _ service: Service) {
    let loaded = loadConfiguration(path)
    guard let settings = loaded.settings else {
      service.logger.error(
        "reload failed: the old configuration serves on", metadata: ["errors": .array(loaded.errors.map { .string("\($0)") })])
      return
    }
    do {
      try service.reload(settings)
      service.logger.info("reloaded")
    } catch { service.logger.error("reload failed: the old configuration serves on", metadata: ["errors": "\(error)"]) }
  }
}
