import EventIO
import Logging
import Proxy
import Settings
import Trust

/// What one loop tells: its access log and, from here on, its counters.
final class LoopRecorder: LoopObserver {
  private let access: AccessLog
  private var logsAccess: Bool
  private let logger: Logger
  private let trustLog: TrustLog

  init(_ loop: EventLoop, _ output: LogOutput, _ format: OperationalLogHandler.Format, _ trustLog: TrustLog, log: LogSettings) {
    self.trustLog = trustLog
    access = AccessLog(loop, output, format)
    logsAccess = log.access
    logger = Logger(label: "authproxy") { _ in OperationalLogHandler(output, format) }
  }

  func follow(_ log: LogSettings) { logsAccess = log.access }
  func flush() { access.flush() }

  override func ended(_ request: borrowing Summary) {
    if logsAccess { access.add(request) }
  }
  override func descriptorsExhausted() {
    logger.error("out of file descriptors: accepting pauses; raise LimitNOFILE or ulimit -n")
  }
  override func trustWarned(_ warning: TrustWarning) { trustLog.warn(warning) }
  override func notice(_ message: String) { logger.notice("\(message)") }
}
