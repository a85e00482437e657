import Foundation
import Testing

/// A bare Debian 12 with systemd, in namespaces of its own: its only network is a loopback, so every port is free. It ends with this
/// value.
final class DebianMachine {
  /// Made by `make packages-peers`.
  static let archive = Surroundings.root + "/.build-debian/base.tar"

  /// Its /packages.
  let packages: String
  private let boot: ChildProcess
  private let initProcess: pid_t

  init(packages: String) throws {
    self.packages = packages
    let root = try Surroundings.newFolder()
    let namespaces = ["--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child"]
    boot = try ChildProcess("unshare", namespaces + [Surroundings.support + "/debian/boot.sh", Self.archive, root, packages])
    guard boot.awaitLine(seconds: 60, where: { $0 == "booting" }) != nil else { throw HarnessError("boot.sh: \(boot.errors)") }
    let children = try String(contentsOfFile: "/proc/\(boot.pid)/task/\(boot.pid)/children", encoding: .utf8)
    guard let first = children.split(separator: " ").first.flatMap({ pid_t($0) }) else { throw HarnessError("no init process") }
    initProcess = first
    // Until systemd answers; then until it has started everything.
    guard try eventually(seconds: 60, { try run("systemctl is-system-running").output.contains("ing") }) else {
      throw HarnessError("systemd does not start: \(boot.errors)")
    }
    _ = try run("systemctl is-system-running --wait")
  }

  deinit { boot.signal(SIGKILL) }

  /// Runs a command of `sh` as the machine's root.
  func run(_ command: String) throws -> ChildProcess.Finished {
    let environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"]
    return try ChildProcess.run(
      "nsenter",
      ["--target", "\(initProcess)", "--all", "--root", "env", "-i", "--chdir=/"] + environment + ["sh", "-c", command],
      seconds: 180)
  }

  /// The output of a command that must succeed.
  func output(_ command: String) throws -> String {
    let done = try run(command)
    guard done.status == .exited(0) else { throw HarnessError("\(command): \(done.status)\n\(done.output)\(done.errors)") }
    return done.output.trimmingCharacters(in: .newlines)
  }

  func succeeds(_ command: String) throws -> Bool { try run(command).status == .exited(0) }

  /// Starts one of this machine's programs in the network of the other one.
  func start(_ program: String, _ arguments: [String]) throws -> ChildProcess {
    try ChildProcess("nsenter", ["--target", "\(initProcess)", "--net", program] + arguments)
  }

  /// The status of a request through the proxy, as `curl` sees it; `000`: none.
  func status(_ url: String, proxy: String? = "http://127.0.0.1:3128") throws -> String {
    let asked = try start(
      "curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", "--noproxy", "", "--proxy", proxy ?? "", url])
    _ = asked.awaitEnd(seconds: 20)
    return asked.output
  }

  /// Names of all files, without what any installation of any package changes.
  func files() throws -> Set<String> {
    let changing = [
      "proc", "sys", "dev", "run", "tmp", "packages", "var/lib/dpkg", "var/lib/apt", "var/cache", "var/log", "var/lib/systemd",
    ]
    let skipped = changing.map { "-path /\($0)" }.joined(separator: " -o ")
    let found = try output("find / \\( \(skipped) \\) -prune -o -print")
    return Set(found.split(separator: "\n").map(String.init))
  }
}
