import Foundation
import Testing

/// `intercept.publish`: what apps are given, and when.
@Suite struct PublishTests {
  private func content(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  private func configuration(_ source: String, match: String = "https://api.test", _ folder: String) throws -> String {
    try Intercepted.configuration(match: match, top: "intercept: {ca: \(source), publish: \(folder)/published}")
  }

  @Test func `everything is there before serving, and works for an app that is told only that`() throws {
    let folder = try Surroundings.newFolder()
    try withProxy(try configuration("memory", folder)) { proxy throws in
      let published = folder + "/published"
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: published).sorted() == [
          "bundle.pem", "ca.pem", "env.sh", "truststore.jks",
        ])
      let script = ". \(published)/env.sh; curl -sS --noproxy '' -x http://127.0.0.1:\(proxy.port) https://api.test/echo"
      let done = try ChildProcess.run("sh", ["-c", script])
      #expect(done.status == .exited(0), "\(done.errors)")
      #expect(done.output.contains("Bearer \(Configuration.token)"))
      #expect(try !content(published + "/bundle.pem").contains("PRIVATE"))
    }
  }

  @Test func `a reload that adds a host adds a CA, and apps of the old hosts notice nothing`() throws {
    let folder = try Surroundings.newFolder()
    let source = "{generate: \(folder)/ca}"
    try withProxy(try configuration(source, folder)) { proxy throws in
      let root = folder + "/published/ca.pem"
      let before = try content(root)
      #expect(try proxy.inside(ProxyProcess.last("GET", "/echo"), root: root).statuses == [200])
      try proxy.reload(try configuration(source, match: "[https://api.test, https://more.test]", folder))
      let after = try content(root)
      #expect(after.hasPrefix(before) && after.count > before.count)
      try before.write(toFile: folder + "/old.pem", atomically: true, encoding: .utf8)
      let old = try proxy.inside(ProxyProcess.last("GET", "/echo"), root: folder + "/old.pem")
      #expect(old.statuses == [200], "\(old)")
      let more = ProxyProcess.last("GET", "/echo", host: "more.test")
      #expect(try proxy.inside(more, target: "more.test:443", root: root).statuses == [200])
      #expect(try proxy.inside(more, target: "more.test:443", root: folder + "/old.pem").received.isEmpty)
    }
  }

  @Test func `a folder that cannot be written is an error at start, and an error of a reload`() throws {
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("", to: folder + "/published")
    try ProxyProcess.write("listen: 127.0.0.1:0\n" + (try configuration("memory", folder)), to: folder + "/proxy.conf")
    let run = try ChildProcess.run(Surroundings.program, ["run", "--config", folder + "/proxy.conf"])
    #expect(run.status == .exited(78))
    #expect(run.errors.contains("intercept.publish"), "\(run.errors)")
    let other = try Surroundings.newFolder()
    try withProxy(try configuration("memory", other)) { proxy throws in
      try proxy.reload(try configuration("memory", folder), expecting: "reload failed")
      #expect(
        try proxy.inside(ProxyProcess.last("GET", "/echo"), root: other + "/published/ca.pem").statuses == [200])
    }
  }

  @Test func `a second proxy that finds its port taken changes nothing that apps were given`() throws {
    let folder = try Surroundings.newFolder()
    let text = try configuration("memory", folder)
    try withProxy(text) { proxy throws in
      let names = ["bundle.pem", "ca.pem", "env.sh", "truststore.jks"]
      func contents() throws -> [Data] {
        try names.map { try Data(contentsOf: URL(fileURLWithPath: "\(folder)/published/\($0)")) }
      }
      let before = try contents()
      try ProxyProcess.write(
        ProxyProcess.complete("listen: 127.0.0.1:\(proxy.port)\n" + text), to: folder + "/second.conf")
      let second = try ChildProcess.run(Surroundings.program, ["run", "--config", folder + "/second.conf"])
      #expect(second.status == .exited(69), "\(second.errors)")
      #expect(try contents() == before)
      #expect(
        try proxy.inside(ProxyProcess.last("GET", "/echo"), root: folder + "/published/ca.pem").statuses == [200])
    }
  }
}
