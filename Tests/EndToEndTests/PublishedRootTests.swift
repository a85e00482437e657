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

  private func root(_ name: String, _ file: String = "ca.pem") throws -> String {
    try Authority.content("\(folder)/\(name)/\(file)")
  }
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

  /// SIGHUP adds a host, so the proxy makes a CA in its folder, whose file is then seen as a change.
  private func addHost(
    top: String = "", failing obstacle: (ProxyProcess) throws -> Void, _ remedy: (ProxyProcess) throws -> Void
  ) throws {
    func configuration(_ match: String, _ top: String) throws -> String {
      try Intercepted.configuration(
        match: match, top: "intercept: {ca: {generate: \(folder)/made}, publish: \(published)}\n" + top)
    }
    let both = "[https://api.test, https://more.test]"
    try withProxy(try configuration("https://api.test", "watch_files: off")) { proxy throws in
      try obstacle(proxy)
      try proxy.reload(try configuration(both, "watch_files: 100ms\n" + top), expecting: "reload failed")
      let more = try root("made", "ca-2.pem")
      try proxy.watched {
        try remedy(proxy)
        try write(configuration(both, "watch_files: 100ms\nname: other"), proxy)
      }
      #expect(try publishedRoots().hasSuffix(more))
      let request = ProxyProcess.last("GET", "/echo", host: "more.test")
      #expect(try proxy.inside(request, target: "more.test:443", root: published + "/ca.pem").statuses == [200])
      try proxy.reload()
      #expect(try publishedRoots() == root("made") + more)
    }
  }

  @Test func `a root that SIGHUP could not publish is published before its CA signs`() throws {
    try addHost { _ in
      // Nothing can be renamed to what is a folder.
      try FileManager.default.removeItem(atPath: published + "/ca.pem")
      try FileManager.default.createDirectory(atPath: published + "/ca.pem", withIntermediateDirectories: false)
    } _: { _ in
      try FileManager.default.removeItem(atPath: published + "/ca.pem")
    }
  }

  @Test func `also where SIGHUP failed for another reason`() throws {
    let taken = try TestListener()
    try addHost(top: "admin: 127.0.0.1:\(taken.port)") { _ in
    } _: { _ in
    }
  }
}
