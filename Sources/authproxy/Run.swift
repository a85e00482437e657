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
    commandName: "run",
    abstract: "Run the proxy in the foreground. SIGHUP reloads, SIGTERM drains and exits, SIGUSR1 reopens the log.")

  @Option(name: .long, help: "The configuration file.", completion: .file())
  var config: String

  @Flag(
    name: .long,
    help: "Let debuggers attach and the kernel write core files. Both reveal the secrets in memory. Not with 'intercept'.")
  var allowDebugging = false

  func run() throws { try Self.serve(config, isDebuggable: allowDebugging) }

  /// Serves until a signal ends the process.
  /// - Parameter path: of the configuration file.
  static func serve(_ path: String, isDebuggable: Bool) throws {
    let environment = Environment.forPrograms
    let source = ConfigurationSource {
      ConfigurationFile.load(path: path, environment: environment, isDebuggable: isDebuggable, system: $0)
    }
    let (loaded, _) = source.load(.demand)
    for diagnostic in loaded.diagnostics { Terminal.error("\(diagnostic)") }
    guard let settings = loaded.settings else { throw ExitStatus.badConfiguration }
    csys_return_large_memory()
    // Measured with 64 MiB of answers of 2 KB, on two threads: 66 MiB in one heap, up to 78 in two.
    if settings.upstreams.contains(where: { $0.cache != nil }) { csys_share_memory() }
    if isDebuggable { _ = csys_set_dumpable(1) }
    _ = csys_raise_descriptor_limit()
    let output: LogOutput
    do { output = try LogOutput(settings.log.destination) } catch {
      Terminal.error("\(error)")
      throw ExitStatus.badConfiguration
    }
    let service = Service(
      threads: Threads.count(settings.threads), version: AuthProxy.version, output: output, log: settings.log,
      supervisor: Supervisor(environment: Environment.current), source: source)
    // Before the listeners: an early signal must not end the process.
    let signals = Signals()
    let ends = Endings()
    for number in [SIGTERM, SIGINT] {
      signals.on(number) { @Sendable in
        if ends.isSecond() {
          service.flushLogs()
          Process.exit()
        }
        service.shutDown {
          service.logger.info("stopped")
          service.flushLogs()
          Process.exit()
        }
      }
    }
    signals.on(SIGHUP) { @Sendable in service.reload() }
    signals.on(SIGUSR1) { @Sendable in service.reopenLog() }
    do { try service.start(loaded, settings) } catch {
      Terminal.error("authproxy: \(error)")
      throw error.kind == .bind ? ExitStatus.cannotBind : ExitStatus.badConfiguration
    }
    withExtendedLifetime(signals) { dispatchMain() }
  }
}
