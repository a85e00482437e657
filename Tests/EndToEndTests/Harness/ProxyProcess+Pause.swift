import Foundation
import Glibc

/// What arrives while the process is stopped is there all at once when it continues.
extension ProxyProcess {
  func pause() throws {
    process.signal(SIGSTOP)
    let isStopped = try eventually {
      let stat = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
      return stat.components(separatedBy: ") ").last?.hasPrefix("T") == true
    }
    if !isStopped { throw HarnessError("the proxy does not stop") }
  }

  func goOn() { process.signal(SIGCONT) }
}
