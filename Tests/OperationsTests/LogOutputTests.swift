import CSystem
import EventIO
import Foundation
import Settings
import Testing

@testable import Operations

/// A FIFO with both ends held by the test, so that it can be opened as a log file and has a reader that does not read.
private final class FIFO {
  let path: String
  private let descriptor: Int32

  init(in folder: Folder) throws {
    path = folder.path + "/fifo"
    try #require(mkfifo(path, 0o600) == 0)
    descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)
    try #require(descriptor >= 0)
  }
  deinit { close(descriptor) }

  /// Waits until a write has filled it, and hangs.
  func awaitFull() {
    let deadline = Date(timeIntervalSinceNow: 10)
    while Date() < deadline {
      var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      if poll(&wanted, 1, 0) == 0 { return }
      usleep(1_000)
    }
    Issue.record("nobody has filled the FIFO")
  }

  /// Reads until the text ends with this, for at most 5 s.
  func read(until end: String) -> String {
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 65536)
    let deadline = Date(timeIntervalSinceNow: 5)
    while Date() < deadline {
      var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&wanted, 1, 100) == 1 else { continue }
      let count = Foundation.read(descriptor, &block, block.count)
      if count > 0 { bytes += block[..<count] }
      if bytes.suffix(end.utf8.count).elementsEqual(end.utf8) { break }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

private final class Folder {
  let path: String
  init() throws {
    var template = Array((NSTemporaryDirectory() + "/authproxy-log-XXXXXX").utf8CString)
    path = try #require(mkdtemp(&template).map { String(cString: $0) })
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }

  func text(_ name: String) -> String { (try? String(contentsOfFile: path + "/" + name, encoding: .utf8)) ?? "" }
}

@Suite struct LogOutputTests {
  /// As in the program: writing to a pipe without a reader is an error, and does not end the process.
  init() { csys_ignore_signal(SIGPIPE) }

  private func line(_ text: String) -> [UInt8] { Array((text + "\n").utf8) }
  /// More than a FIFO can hold.
  private let large = String(repeating: "x", count: 200_000)

  @Test func `a flush to a full pipe ends at its deadline, and what was to be written is there once somebody reads`() throws {
    let folder = try Folder()
    let fifo = try FIFO(in: folder)
    let output = try LogOutput(.file(fifo.path))
    output.write(line(large + "first"))
    let began = csys_monotonic()
    #expect(!output.flush(within: 100))
    #expect(csys_monotonic() - began < 5_000_000_000)
    let text = fifo.read(until: "first\n")
    #expect(text == large + "first\n")
    #expect(output.flush(within: 5_000))
    #expect(output.dropped == 0)
  }

  @Test func `another destination takes over from a hanging one, with every line that was not begun`() throws {
    let folder = try Folder()
    let fifo = try FIFO(in: folder)
    let output = try LogOutput(.file(fifo.path))
    output.write(line(large + "begun"))
    fifo.awaitFull()
    output.write(line("waiting"))
    output.adopt(try #require(try output.prepare(.file(folder.path + "/log"))))
    output.write(line("new"))
    // Both destinations have been flushed: the new one is done, the old one hangs.
    #expect(!output.flush(within: 5_000))
    #expect(folder.text("log") == "waiting\nnew\n")
    #expect(fifo.read(until: "begun\n") == large + "begun\n")
    #expect(output.flush(within: 5_000))
    #expect(folder.text("log") == "waiting\nnew\n")
  }

  @Test func `a log file that does not open has a deadline, hangs one thread only, and is tried again afterwards`() throws {
    let folder = try Folder()
    let path = folder.path + "/fifo"
    try #require(mkfifo(path, 0o600) == 0)
    let output = try LogOutput(.file(folder.path + "/log"), LogOpener(patience: 100))
    // Opening a FIFO without a reader blocks.
    let late = #expect(throws: LogOutput.OpenError.self) { try output.prepare(.file(path)) }
    #expect(late?.description.hasSuffix("did not finish within 100 ms") == true)
    let again = #expect(throws: LogOutput.OpenError.self) { try output.prepare(.file(path)) }
    #expect(again?.description.hasSuffix("still hangs") == true)
    output.write(line("as before"))
    #expect(output.flush(within: 5_000))
    #expect(folder.text("log") == "as before\n")
    let reader = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(reader) }
    var opened: LogOutput.Prepared?
    for _ in 0..<500 where opened == nil {
      opened = try? output.prepare(.file(path))
      usleep(10_000)
    }
    output.adopt(try #require(opened))
    output.write(line("to the reader"))
    #expect(output.flush(within: 5_000))
    var block = [UInt8](repeating: 0, count: 100)
    let count = read(reader, &block, block.count)
    #expect(String(decoding: block[..<max(count, 0)], as: UTF8.self) == "to the reader\n")
  }

  @Test func `reopening again and again while writes hang ends in an error, not in ever more threads`() throws {
    let folder = try Folder()
    let fifo = try FIFO(in: folder)
    let output = try LogOutput(.file(fifo.path))
    output.write(line(large))
    fifo.awaitFull()
    var reopened = 0
    let error = #expect(throws: LogOutput.OpenError.self) {
      for index in 0..<100 {
        output.write(line("\(index)"))
        _ = output.flush(within: 50)
        try output.reopen()
        reopened += 1
      }
    }
    #expect(reopened > 0 && reopened < 50)
    #expect(error?.description.contains("still hang") == true)
  }

  @Test func `a destination that somebody made non-blocking loses nothing when it is full`() throws {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    try #require(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
    let destination = LogDestination(.standardError, ends[1])
    let lines = (0..<100_000).flatMap { line("line \($0)") }
    destination.queue.async { _ = destination.write(lines) }
    var received: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 1 << 20)
    while received.count < lines.count {
      var wanted = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
      guard poll(&wanted, 1, 10_000) == 1 else { break }
      let count = recv(ends[0], &block, block.count, 0)
      guard count > 0 else { break }
      received += block[..<count]
    }
    #expect(received == lines)
    #expect(destination.queue.run(within: 10_000) { true } == true)
  }

  @Test func `what a destination refuses is counted`() throws {
    let output = try LogOutput(.file("/dev/full"))
    output.write(line("lost"))
    #expect(output.flush(within: 5_000))
    #expect(output.dropped == 1)
  }

  @Test func `a reopened file gets the lines from then on`() throws {
    let folder = try Folder()
    let output = try LogOutput(.file(folder.path + "/log"))
    output.write(line("before"))
    #expect(output.flush(within: 5_000))
    try FileManager.default.moveItem(atPath: folder.path + "/log", toPath: folder.path + "/log.1")
    try output.reopen()
    output.write(line("after"))
    #expect(output.flush(within: 5_000))
    #expect(folder.text("log.1") == "before\n")
    #expect(folder.text("log") == "after\n")
  }
}
