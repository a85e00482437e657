import Foundation
import Glibc

/// A started program. Collects its output and waits for its end.
final class ChildProcess: Sendable {
  enum Ending: Equatable, CustomStringConvertible {
    case exited(Int32)
    case killed(signal: Int32)

    var description: String {
      switch self {
      case .exited(let status): "exit status \(status)"
      case .killed(let signal): "signal \(signal)"
      }
    }
  }

  struct State {
    var output: [UInt8] = []
    var errors: [UInt8] = []
    /// Whole lines of standard output.
    var lines: [String] = []
    var lineStart = 0
    var openStreams = 2
    var ending: Ending?
  }

  let pid: pid_t
  let name: String
  private let state = Monitor(State())
  private let input: Monitor<Int32>

  /// Pipes become close-on-exec only after their creation, so no other thread may spawn in between.
  private static let spawning = NSLock()

  /// `descriptors`: this process's, passed to the child under these numbers.
  init(
    _ executable: String, _ arguments: [String], environment: [String: String] = [:], folder: String? = nil,
    descriptors: [Int32: Int32] = [:]
  ) throws {
    Self.spawning.lock()
    defer { Self.spawning.unlock() }
    let (stdin, stdout, stderr) = (try Self.pipe(), try Self.pipe(), try Self.pipe())
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, stdin.read, 0)
    posix_spawn_file_actions_adddup2(&actions, stdout.write, 1)
    posix_spawn_file_actions_adddup2(&actions, stderr.write, 2)
    for (number, ours) in descriptors { posix_spawn_file_actions_adddup2(&actions, ours, number) }

    // Signals as in a shell: this thread may block some, and the test runner may ignore some, which a child would inherit.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    var all = sigset_t()
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let command = (folder.map { ["env", "-C", $0] } ?? []) + [executable]
    let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    var argumentPointers: [UnsafeMutablePointer<CChar>?] = (command + arguments).map { strdup($0) } + [nil]
    var environmentPointers: [UnsafeMutablePointer<CChar>?] = variables.map { strdup("\($0)=\($1)") } + [nil]
    defer { for pointer in argumentPointers + environmentPointers { free(pointer) } }
    var pid: pid_t = 0
    let result = posix_spawnp(&pid, command[0], &actions, &attributes, &argumentPointers, &environmentPointers)
    for end in [stdin.read, stdout.write, stderr.write] { close(end) }
    guard result == 0 else {
      for end in [stdin.write, stdout.read, stderr.read] { close(end) }
      throw HarnessError("cannot start \(executable): \(String(cString: strerror(result)))")
    }
    self.pid = pid
    name = URL(fileURLWithPath: executable).lastPathComponent
    input = Monitor(stdin.write)
    collect(stdout.read) { state, bytes in
      state.output += bytes
      while let end = state.output[state.lineStart...].firstIndex(of: 10) {
        state.lines.append(String(decoding: state.output[state.lineStart..<end], as: UTF8.self))
        state.lineStart = end + 1
      }
    }
    collect(stderr.read) { state, bytes in state.errors += bytes }
    let thread = Thread { [state, pid] in
      var status: Int32 = 0
      while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
      let signal = status & 0x7f
      state.change { $0.ending = signal == 0 ? .exited(status >> 8 & 0xff) : .killed(signal: signal) }
    }
    thread.start()
  }

  /// A pipe whose ends no other program inherits.
  static func newPipe() throws -> (read: Int32, write: Int32) {
    spawning.lock()
    defer { spawning.unlock() }
    return try pipe()
  }

  private static func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { throw HarnessError("pipe: \(String(cString: strerror(errno)))") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  private func collect(_ descriptor: Int32, into body: @escaping @Sendable (inout State, ArraySlice<UInt8>) -> Void) {
    let thread = Thread { [state] in
      var buffer = [UInt8](repeating: 0, count: 65536)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0 && errno == EINTR { continue }
        if count <= 0 { break }
        state.change { body(&$0, buffer[..<count]) }
      }
      close(descriptor)
      state.change { $0.openStreams -= 1 }
    }
    thread.start()
  }

  var output: String { state.change { String(decoding: $0.output, as: UTF8.self) } }
  var errors: String { state.change { String(decoding: $0.errors, as: UTF8.self) } }
  var lines: [String] { state.change { $0.lines } }
  var ending: Ending? { state.change { $0.ending } }

  /// The first line of standard output, from line number `start` on, that `fits`; nil if the program ends or the time is over.
  func awaitLine(from start: Int = 0, seconds: Double = 15, where fits: (String) -> Bool) -> String? {
    var next = start
    return state.wait(seconds) { state -> String?? in
      while next < state.lines.count {
        next += 1
        if fits(state.lines[next - 1]) { return .some(state.lines[next - 1]) }
      }
      return state.openStreams == 0 ? .some(nil) : nil
    } ?? nil
  }

  /// Waits for the end of the program and of its output; nil after the deadline.
  func awaitEnd(seconds: Double = 60) -> Ending? {
    state.wait(seconds) { $0.openStreams == 0 ? $0.ending : nil }
  }

  func signal(_ number: Int32) {
    state.change { if $0.ending == nil { kill(pid, number) } }
  }

  func send(_ text: String) {
    input.change { descriptor in
      let bytes = Array(text.utf8)
      if descriptor >= 0 { _ = write(descriptor, bytes, bytes.count) }
    }
  }

  func closeInput() {
    input.change { descriptor in
      if descriptor >= 0 { close(descriptor) }
      descriptor = -1
    }
  }

  deinit {
    closeInput()
    if ending == nil { kill(pid, SIGKILL) }
  }

  struct Finished {
    let status: Ending
    let output: String
    let errors: String
  }

  /// Runs a program to its end.
  static func run(
    _ executable: String, _ arguments: [String], environment: [String: String] = [:], folder: String? = nil, input: String = "",
    seconds: Double = 60
  ) throws -> Finished {
    let child = try ChildProcess(executable, arguments, environment: environment, folder: folder)
    child.send(input)
    child.closeInput()
    guard let status = child.awaitEnd(seconds: seconds) else {
      child.signal(SIGKILL)
      throw HarnessError("\(executable) did not end within \(seconds) s")
    }
    return Finished(status: status, output: child.output, errors: child.errors)
  }
}
