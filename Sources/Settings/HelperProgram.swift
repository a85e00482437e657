internal import CSystem
import Credentials
import Files
internal import Glibc

/// A program whose standard output is a secret: `{command: [/usr/bin/pass, show, x], timeout: 10s, refresh: 30m}`.
public struct HelperProgram: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  /// The first is an absolute path. The proxy neither searches PATH nor starts a shell.
  public var arguments: [String]
  /// `NAME=value` each. They may contain secrets of other programs.
  public var environment: [String]
  /// Milliseconds.
  public var timeout: Int
  /// Milliseconds after which the proxy runs the program again; nil = on reload only.
  public var refresh: Int?
  public init(arguments: [String], environment: [String], timeout: Int = 10_000, refresh: Int? = nil) {
    self.arguments = arguments
    self.environment = environment
    self.timeout = timeout
    self.refresh = refresh
  }
  public var description: String { "command \(arguments.first ?? "")" }
  public var customMirror: Mirror { Mirror(self, children: ["program": arguments.first ?? ""]) }

  /// Bytes. No token or key is longer; more output is a mistake.
  static let outputLimit = 64 << 10

  /// Runs the program and blocks until it exits or `timeout` is over; then kills its whole process group. Standard input and
  /// error are /dev/null, as a failing helper may print secrets. Signal mask and dispositions are the defaults.
  public func run() throws(SecretError) -> [UInt8] {
    var ends: [Int32] = [-1, -1]
    let piped = csys_pipe(&ends)
    guard piped == 0 else { throw SecretError(FileError(errno: -piped).description) }
    defer { close(ends[0]) }
    let process: pid_t
    do { process = try spawn(output: ends[1]) } catch {
      close(ends[1])
      throw error
    }
    close(ends[1])
    let deadline = Self.now() + timeout
    do {
      let bytes = try Self.collect(ends[0], deadline: deadline)
      try Self.wait(process, deadline: deadline)
      return bytes
    } catch {
      kill(-process, SIGKILL)
      Self.reap(process)
      throw error
    }
  }

  private func spawn(output: Int32) throws(SecretError) -> pid_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    var all = sigset_t()
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setpgroup(&attributes, 0)
    let flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | Int32(POSIX_SPAWN_SETPGROUP)
    posix_spawnattr_setflags(&attributes, Int16(flags))

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    csys_spawn_close_from(&actions, 3)

    var arguments: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    var environment: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) }
    defer {
      for pointer in arguments { free(pointer) }
      for pointer in environment { free(pointer) }
    }
    arguments.append(nil)
    environment.append(nil)
    guard let program = arguments[0] else { throw SecretError("no program") }
    var process: pid_t = 0
    let code = posix_spawn(&process, program, &actions, &attributes, arguments, environment)
    guard code == 0 else { throw SecretError("cannot be started: \(FileError(errno: code))") }
    return process
  }

  private static func collect(_ descriptor: Int32, deadline: Int) throws(SecretError) -> [UInt8] {
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 4096)
    while true {
      let left = deadline - now()
      guard left > 0 else { throw SecretError("did not exit in time") }
      var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&wanted, 1, Int32(clamping: left)) > 0 else { continue }
      let got = Glibc.read(descriptor, &block, block.count)
      if got == 0 { return bytes }
      if got < 0 {
        let code = csys_errno()
        if code == EINTR || code == EAGAIN { continue }
        throw SecretError(FileError(errno: code).description)
      }
      guard bytes.count + got <= outputLimit else { throw SecretError("wrote more than \(outputLimit) bytes") }
      bytes += block[..<got]
    }
  }

  /// The program has closed its output. Waits until it exits, at most until the deadline.
  private static func wait(_ process: pid_t, deadline: Int) throws(SecretError) {
    while true {
      var status: Int32 = 0
      let ended = waitpid(process, &status, WNOHANG)
      if ended == process {
        // WIFEXITED and its family are macros that Swift does not import: the low seven bits are the signal.
        let signal = status & 0x7f
        guard signal == 0 else { throw SecretError("was killed by signal \(signal)") }
        let code = status >> 8 & 0xff
        guard code == 0 else { throw SecretError("exited with status \(code)") }
        return
      }
      if ended < 0 && csys_errno() != EINTR { throw SecretError("its exit status is unknown") }
      guard now() < deadline else { throw SecretError("did not exit in time") }
      usleep(2_000)
    }
  }

  private static func reap(_ process: pid_t) {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && csys_errno() == EINTR {}
  }

  /// Milliseconds on the monotonic clock.
  private static func now() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int(time.tv_sec) * 1000 + Int(time.tv_nsec) / 1_000_000
  }
}
