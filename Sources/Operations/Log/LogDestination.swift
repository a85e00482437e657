import CSystem
import Dispatch
import EventIO
import Glibc
import Settings
import Synchronization

/// One open destination of the log, with its own queue for writes, so that a hanging write blocks no other destination.
final class LogDestination: Sendable {
  let settings: LogSettings.Destination
  let queue = DispatchQueue(label: "log")
  private let descriptor: Int32

  /// - Parameter descriptor: closed with this object, if it is a file.
  init(_ settings: LogSettings.Destination, _ descriptor: Int32) {
    self.settings = settings
    self.descriptor = descriptor
  }

  /// The last writer is gone.
  deinit { if isFile { _ = csys_close(descriptor) } }

  /// Standard output and standard error are open for the process's whole life.
  var isFile: Bool { if case .file = settings { true } else { false } }

  /// Blocks until everything is written. Call it on `queue` only.
  /// - Returns: false if the destination accepts no more.
  func write(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var start = 0
      while start < bytes.count {
        let count = Glibc.write(descriptor, bytes.baseAddress! + start, bytes.count - start)
        if count > 0 {
          start += count
          continue
        }
        switch count < 0 ? csys_errno() : EIO {
        case EINTR: continue
        // Another program that shares the descriptor may have made it non-blocking.
        case EAGAIN:
          var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          _ = poll(&wanted, 1, -1)
        default: return false
        }
      }
      return true
    }
  }
}

/// Opens destinations, one at a time and with a deadline, as open blocks for a FIFO without a reader or a hanging file system.
final class LogOpener: Sendable {
  /// Milliseconds.
  static let patience = 5_000

  private let queue = DispatchQueue(label: "log opener")
  private let isOpening = Atomic<Bool>(false)
  private let patience: Int

  init(patience: Int = LogOpener.patience) { self.patience = patience }

  func open(_ settings: LogSettings.Destination) throws(LogOutput.OpenError) -> LogDestination {
    switch settings {
    case .standardOutput: return LogDestination(settings, STDOUT_FILENO)
    case .standardError: return LogDestination(settings, STDERR_FILENO)
    case .file(let path): return try open(settings, path)
    }
  }

  private func open(
    _ settings: LogSettings.Destination, _ path: String
  ) throws(LogOutput.OpenError) -> LogDestination {
    guard !isOpening.exchange(true, ordering: .relaxed) else {
      throw LogOutput.OpenError(path: path, reason: "an earlier attempt to open a log file still hangs")
    }
    let opened = queue.run(within: patience) { () -> Result<LogDestination, LogOutput.OpenError> in
      let descriptor = csys_open(path, O_WRONLY | O_CREAT | O_APPEND, 0o640)
      self.isOpening.store(false, ordering: .relaxed)
      guard descriptor >= 0 else {
        return .failure(LogOutput.OpenError(path: path, reason: Socket.text(ofError: -descriptor)))
      }
      return .success(LogDestination(settings, descriptor))
    }
    switch opened {
    case .success(let destination): return destination
    case .failure(let error): throw error
    case nil: throw LogOutput.OpenError(path: path, reason: "open did not finish within \(patience) ms")
    }
  }
}
