import Foundation

/// A preloaded C library that simulates shortages in the program under test: see shortage.c.
struct Shortage {
  private let folder: String
  private static let built = Result { try Surroundings.preloadable("shortage") }
  let environment: [String: String]

  /// - Parameter slow: delay in milliseconds for names under `slow.test`.
  init(slow: Int = 60_000) throws {
    folder = try Surroundings.newFolder()
    environment = [
      "LD_PRELOAD": try Self.built.get(), "SHORTAGE_SLOW": String(slow), "SHORTAGE_LOG": folder + "/names",
      "SHORTAGE_EPOLL": folder + "/epoll", "SHORTAGE_ACCEPT": folder + "/accept",
    ]
  }

  /// The names under `test` that getaddrinfo was called with, in order.
  var names: [String] {
    (try? String(contentsOfFile: folder + "/names", encoding: .utf8))?.split(separator: "\n").map(String.init) ?? []
  }

  /// From now on until its end, no connection to a unix socket is accepted.
  func beginOfAccepting() throws { try ProxyProcess.write("", to: folder + "/accept") }
  func endOfAccepting() throws { try FileManager.default.removeItem(atPath: folder + "/accept") }

  /// From now on until its end, epoll accepts no registration of a socket.
  func begin() throws { try ProxyProcess.write("", to: folder + "/epoll") }
  func end() throws { try FileManager.default.removeItem(atPath: folder + "/epoll") }
}
