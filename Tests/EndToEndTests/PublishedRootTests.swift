import Foundation
import Testing

/// Whoever may write a watched file does not choose whom apps trust: a changed root is published on SIGHUP only.
@Suite struct PublishedRootTests {
  private let folder: String
  private var published: String { folder + "/published" }

  init() throws {
    folder = try Surroundings.newFolder()
    for name in ["one", "two", "used"] { try Authority.create("\(folder)/\(name)", for: "api.test") }
    try Authority.copy(folder + "/one", over: folder + "/used")
  }

  private func configuration(publish: Bool = true) throws -> String {
    let more = publish ? ", publish: \(published)" : ""
    return try Intercepted.configuration(
      top: "watch_files: 100ms\nintercept: {ca: \(Authority.item(folder + "/used"))\(more)}")
  }

  private func root(_ name: String) throws -> String { try Authority.content("\(folder)/\(name)/ca.pem") }
  private func publishedRoots() throws -> String { try Authority.content(published + "/ca.pem") }

  private func write(_ text: String, _ proxy: ProxyProcess) throws {
    try Authority.replace(proxy.configurationPath, with: ProxyProcess.complete(text), mode: 0o600)
  }

  @Test func `a CA that changed with its watched files signs, and its root waits for SIGHUP`() throws {
    try withProxy(try configuration()) { proxy throws in
      #expect(try publishedRoots() == root("one"))
      try proxy.watched { try Authority.copy(folder + "/two", over: folder + "/used") }
      #expect(proxy.process.lines.contains { $0.contains("published with the next SIGHUP") })
      let seen = try proxy.inside(ProxyProcess.last("GET", "/echo"), root: folder + "/two/ca.pem")
      #expect(seen.statuses == [200], "\(seen)")
      #expect(try publishedRoots() == root("one"))
      try proxy.reload()
      #expect(try publishedRoots() == root("two"))
    }
  }

  @Test func `nor is it published by way of a configuration without publish`() throws {
    try withProxy(try configuration()) { proxy throws in
      try proxy.watched { try write(configuration(publish: false), proxy) }
      try proxy.watched { try Authority.copy(folder + "/two", over: folder + "/used") }
      try proxy.watched { try write(configuration(), proxy) }
      #expect(try publishedRoots() == root("one"))
      try proxy.reload()
      #expect(try publishedRoots() == root("two"))
    }
  }

  @Test func `where nothing was published before, a watched file publishes what was started with`() throws {
    try withProxy(try configuration(publish: false)) { proxy throws in
      try proxy.watched { try Authority.copy(folder + "/two", over: folder + "/used") }
      try proxy.watched { try write(configuration(), proxy) }
      #expect(try publishedRoots() == root("one"))
      try proxy.reload()
      #expect(try publishedRoots() == root("two"))
    }
  }

  @Test func `and without a CA at the start nothing`() throws {
    try withProxy("watch_files: 100ms\n" + (try Configuration.https())) { proxy throws in
      try proxy.watched { try write(configuration(), proxy) }
      #expect(!FileManager.default.fileExists(atPath: published + "/ca.pem"))
      #expect(proxy.process.lines.contains { $0.contains("published with the next SIGHUP") })
      try proxy.reload()
      #expect(try publishedRoots() == root("one"))
    }
  }
}
