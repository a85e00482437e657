import Foundation
import Glibc
import Testing

@Suite struct ReloadTests {
  private func listen(_ proxy: ProxyProcess) -> String {
    "listen: \(proxy.addresses[0])\n" + (proxy.adminPort > 0 ? "admin: 127.0.0.1:\(proxy.adminPort)\n" : "")
  }
  private let admin = "admin: 127.0.0.1:0\n"

  // MARK: By content

  @Test func `what did not change keeps its sockets and its pooled connections`() throws {
    let origin = try Origin()
    try withProxy(try admin + Configuration.https(origin: origin)) { proxy throws in
      let client = try proxy.connect()
      func ask() throws -> Answer {
        try client.send(ProxyProcess.request("GET", "http://api.test/"))
        return try client.readAnswer()
      }
      #expect(try ask().status == 200)
      let same = try String(contentsOfFile: proxy.configurationPath, encoding: .utf8)
      try proxy.reload(same, expecting: #""changed":"false""#)
      try proxy.reload(same + "name: another\n")
      #expect(try ask()["Via"]?.contains("another") == true)
      #expect(try origin.connections("https").accepted == 1)
      #expect(try proxy.metric(#"authproxy_config_reloads_total{result="unchanged"}"#) == 1)
      #expect(try proxy.metric(#"authproxy_config_reloads_total{result="success"}"#) == 1)
    }
  }

  @Test func `everything wrong is told, nothing changes, and the metrics and /status say so until it is right`() throws {
    try withProxy(try admin + Configuration.https()) { proxy throws in
      let taken = try TestListener()
      let good = try String(contentsOfFile: proxy.configurationPath, encoding: .utf8)
      try proxy.reload("listen: 127.0.0.1\nupstreems: []\nlog: {level: loud}\n", expecting: "reload failed")
      let line = try #require(proxy.process.lines.last { $0.contains("reload failed") })
      for mark in ["upstreems", "loud", "needs a port"] { #expect(line.contains(mark), "\(line)") }
      #expect(try proxy.metric("authproxy_config_last_reload_successful") == 0)
      #expect(try proxy.metric(#"authproxy_config_reloads_total{result="failure"}"#) == 1)
      let errors = (try proxy.status()["config"] as? [String: Any])?["last_reload_errors"] as? [String]
      #expect(errors?.count ?? 0 >= 3)
      #expect(try proxy.ask("http://api.test/").status == 200)
      // A listener that cannot be bound, and a log that cannot be opened: the log reports both.
      let unusable =
        try "listen: [\"\(proxy.addresses[0])\", \"127.0.0.1:\(taken.port)\"]\nlog: {file: /no/such/folder/log}\n"
        + Configuration.https()
      try proxy.reload(unusable, expecting: "reload failed")
      let second = try #require(proxy.process.lines.last { $0.contains("reload failed") })
      #expect(second.contains("127.0.0.1:\(taken.port)") && second.contains("/no/such/folder/log"), "\(second)")
      #expect(try proxy.ask("http://api.test/").status == 200)
      try proxy.reload(good)
      #expect(try proxy.metric("authproxy_config_last_reload_successful") == 1)
    }
  }

  @Test func `threads cannot change, and the log says so`() throws {
    try withProxy(try "threads: 2\n" + Configuration.https()) { proxy throws in
      try proxy.reload(try "threads: 1\n" + listen(proxy) + Configuration.https())
      #expect(proxy.process.lines.contains { $0.contains("threads") && $0.contains("warning") })
    }
  }

  // MARK: Listeners

  @Test func `a listener on all addresses takes over from loopback while clients come, and the other way round`() throws {
    let reserved = try ReservedPort()
    let port = reserved.port
    func text(_ address: String) throws -> String {
      try "listen: {address: \"\(address):\(port)\", clients: optional}\n" + Configuration.https()
    }
    try withProxy(try text("127.0.0.1")) { proxy throws in
      let open = try proxy.connect()
      for address in ["0.0.0.0", "127.0.0.1", "0.0.0.0"] {
        try proxy.reload(try text(address))
        #expect(try proxy.ask("http://api.test/").status == 200)
        #expect(proxy.process.lines.last { $0.contains("reloaded") }?.contains("\(address):\(port)") == true)
      }
      try open.send(ProxyProcess.request("GET", "http://api.test/"))
      #expect(try open.readAnswer().status == 200)
    }
  }

  @Test func `an address that comes back at once is bound again, although its former listener still empties its queue`() throws
  {
    let reserved = try ReservedPort()
    let port = reserved.port
    func text(_ address: String) throws -> String {
      try "listen: [\"127.0.0.1:0\", {address: \"\(address):\(port)\", clients: optional}]\n" + Configuration.https()
    }
    try withProxy(try text("0.0.0.0")) { proxy throws in
      for _ in 0..<3 {
        for address in ["127.0.0.2", "0.0.0.0"] { try proxy.reload(try text(address)) }
      }
      #expect(try proxy.ask("http://api.test/").status == 200)
    }
  }

  @Test func `a removed listener is closed although its clients stay, and they are served on`() throws {
    let reserved = (try ReservedPort(), try ReservedPort())
    let (first, second) = (reserved.0.port, reserved.1.port)
    let both = "listen: [\"127.0.0.1:\(first)\", \"127.0.0.1:\(second)\"]\n"
    try withProxy(try both + Configuration.https()) { proxy throws in
      let client = try RawConnection(port: second)
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
      #expect(try client.readAnswer().status == 200)
      try proxy.reload(try "listen: 127.0.0.1:\(first)\n" + Configuration.https())
      #expect(try eventually { (try? RawConnection(port: second)) == nil })
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
      #expect(try client.readAnswer().status == 200)
      try proxy.reload(try both + Configuration.https())
      #expect(try RawConnection(port: second).descriptor > 0)
    }
  }

  @Test func `a unix socket's mode changes in place`() throws {
    let path = try Surroundings.newFolder() + "/p.sock"
    func text(_ mode: String) throws -> String {
      try "listen: [\"127.0.0.1:0\", {address: \"unix:\(path)\", mode: \"\(mode)\"}]\n" + Configuration.https()
    }
    func mode() throws -> Int? { try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int }
    try withProxy(try text("0600")) { proxy throws in
      let client = try RawConnection(unixPath: path)
      try proxy.reload(try text("0666"))
      #expect(try mode() == 0o666)
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
      #expect(try client.readAnswer().status == 200)
    }
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func `the admin listener moves, appears and goes`() throws {
    let reserved = (try ReservedPort(), try ReservedPort())
    let (first, second) = (reserved.0.port, reserved.1.port)
    try withProxy(try "admin: 127.0.0.1:\(first)\n" + Configuration.https()) { proxy throws in
      func healthy(_ port: Int) -> Bool {
        guard let connection = try? RawConnection(port: port) else { return false }
        try? connection.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        return (try? connection.readAnswer().status) == 200
      }
      #expect(healthy(first))
      let plain = "listen: \(proxy.addresses[0])\n"
      try proxy.reload(try plain + "admin: 127.0.0.1:\(second)\n" + Configuration.https())
      #expect(healthy(second))
      #expect(try eventually { !healthy(first) })
      try proxy.reload(try plain + "admin: {address: \"127.0.0.1:\(second)\", expose: [readyz]}\n" + Configuration.https())
      #expect(!healthy(second))
      try proxy.reload(try plain + Configuration.https())
      #expect(try eventually { (try? RawConnection(port: second)) == nil })
    }
  }

  // MARK: Exchanges in flight

  @Test func `an exchange ends on the configuration that it began with, however different the new one`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.gate("on"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
    try withProxy(try Configuration.https(top: "timeouts: {drain: 200ms}")) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      try origin.await(name, gate: "on")
      try proxy.reload(
        try listen(proxy)
          + Configuration.https("credential: second", top: "  second: {bearer: {token: x-5ecret}}\ntimeouts: {drain: 200ms}"))
      usleep(500_000)
      try origin.open("on", of: name)
      #expect(try client.readAnswer().text == "ok")
    }
  }

  @Test func `those of removed entries and clients and of changed trust have the drain time`() throws {
    let origin = try Origin.shared()
    let clients =
      "clients: [{name: app, password: pw-5ecret}, {name: other, password: pw-5ecret}]\nanonymous: {allow: [api.test]}\n"
    let begin =
      try "listen: {address: \"127.0.0.1:0\", clients: optional}\ntimeouts: {drain: 300ms}\n\(clients)" + Configuration.https()
    func changed(_ text: String) -> (ProxyProcess) -> String {
      { "listen: {address: \"\($0.addresses[0])\", clients: optional}\ntimeouts: {drain: 300ms}\n" + text }
    }
    let ca = try Surroundings.pki() + "/ca.pem"
    let next: [(String, (ProxyProcess) -> String)] = [
      (
        "entry",
        changed(
          "\(clients.replacingOccurrences(of: "api.test", with: "new.test"))upstreams: [{match: new.test, origin: \"http://127.0.0.1:1\"}]\n"
        )
      ),
      ("client", changed(try "clients: [{name: other, password: pw-5ecret}]\n" + Configuration.https())),
      (
        "trust",
        changed(
          try clients + Configuration.https()
            + "trust:\n  default:\n    - default: {ca_file: \(ca), system_roots: false, min_version: tls1.3}\n")
      ),
    ]
    each(next) { (what, text) in
      try withProxy(begin) { proxy throws in
        let name = Origin.newName()
        try origin.script(name, [.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), .awaitClose])
        let client = try proxy.connect()
        let proof = "Proxy-Authorization: Basic \(Data("app:pw-5ecret".utf8).base64EncodedString())"
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)", [proof]))
        _ = try client.readHead()
        let start = Date()
        try proxy.reload(text(proxy))
        let (bytes, _) = try client.readToEnd()
        #expect(String(decoding: bytes, as: UTF8.self) == "half", "\(what)")
        let took = Date().timeIntervalSince(start)
        #expect(took >= 0.29 && took < 3, "\(what): \(took)")
      }
    }
  }

  @Test func `a tunnel that is not allowed any more has the drain time`() throws {
    let listener = try TestListener()
    func configuration(_ allow: String) -> String {
      "upstreams: []\nconnect:\n  allow: [\(allow)]\nforbidden_addresses: []\ntimeouts: {drain: 300ms}\n"
    }
    let (kept, dropped) = ("\"localhost:\(listener.port)\"", "\"127.0.0.1:\(listener.port)\"")
    try withProxy(configuration("\(kept), \(dropped)")) { proxy throws in
      func tunnel(_ host: String) throws -> (RawConnection, RawConnection) {
        let client = try proxy.connect()
        try client.send("CONNECT \(host):\(listener.port) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(try client.readAnswer(to: "CONNECT").status == 200)
        return (client, try listener.accept())
      }
      let (staying, server) = try tunnel("localhost")
      let (ending, otherServer) = try tunnel("127.0.0.1")
      let start = Date()
      try proxy.reload(listen(proxy) + configuration(kept))
      _ = try? ending.readToEnd()
      #expect((0.29..<3).contains(Date().timeIntervalSince(start)))
      _ = try? otherServer.readToEnd()
      try staying.send("still here")
      #expect(try server.read(10) == Array("still here".utf8))
    }
  }

  @Test func `changed trust retires pooled connections, and requests that waited for one get another`() throws {
    let origin = try Origin()
    try withProxy(try Configuration.https(origin: origin)) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      let ca = try Surroundings.pki() + "/ca.pem"
      let strict = "trust:\n  default:\n    - default: {ca_file: \(ca), system_roots: false, min_version: tls1.3}\n"
      try proxy.reload(try listen(proxy) + Configuration.https(top: strict, origin: origin))
      #expect(try origin.connections("https", most: 0).fits)
      #expect(try proxy.ask("http://api.test/echo").received().tls?.resumed == false)
      #expect(try origin.connections("https").accepted == 2)
    }
  }

  // MARK: Watched files

  @Test func `a secret that rotates behind symbolic links is taken without a signal`() throws {
    let folder = try Surroundings.newFolder()
    func write(_ version: String, _ token: String) throws {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(version)", withIntermediateDirectories: true)
      try ProxyProcess.write(token, to: "\(folder)/\(version)/token")
    }
    func point(_ version: String) throws {
      // Like the kubelet: a new link next to the old one, then a rename over it.
      try FileManager.default.createSymbolicLink(atPath: "\(folder)/new", withDestinationPath: version)
      #expect(rename("\(folder)/new", "\(folder)/data") == 0)
    }
    try write("v1", "one-5ecret\n")
    try point("v1")
    try FileManager.default.createSymbolicLink(atPath: "\(folder)/token", withDestinationPath: "data/token")
    let text =
      try "watch_files: 100ms\n"
      + Configuration.https("credential: file", top: "  file: {bearer: {token: {file: \(folder)/token}}}")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo").received()["Authorization"] == "Bearer one-5ecret")
      try write("v2", "two-5ecret\n")
      try point("v2")
      #expect(
        proxy.process.awaitLine(where: { $0.contains("configuration reloaded") && $0.contains(#""reason":"watch""#) }) != nil)
      #expect(try proxy.ask("http://api.test/echo").received()["Authorization"] == "Bearer two-5ecret")
      // The file is gone: reported once, and its old content stays in use.
      try FileManager.default.removeItem(atPath: "\(folder)/data")
      #expect(proxy.process.awaitLine(where: { $0.contains("old content stays in use") && $0.contains("/token") }) != nil)
      usleep(400_000)
      #expect(proxy.process.lines.filter { $0.contains("old content stays in use") }.count == 1)
      #expect(try proxy.ask("http://api.test/echo").received()["Authorization"] == "Bearer two-5ecret")
      // Meanwhile the proxy uses the change of another file, the configuration itself.
      try ProxyProcess.write(
        try String(contentsOfFile: proxy.configurationPath, encoding: .utf8) + "name: renamed\n", to: proxy.configurationPath)
      #expect(try eventually { try proxy.ask("http://api.test/")["Via"]?.contains("renamed") == true })
      #expect(try proxy.ask("http://api.test/echo").received()["Authorization"] == "Bearer two-5ecret")
      try point("v1")
      #expect(try eventually { try proxy.ask("http://api.test/echo").received()["Authorization"] == "Bearer one-5ecret" })
    }
  }

  @Test func `a helper program runs again after its refresh, and its failure changes nothing`() throws {
    let folder = try Surroundings.newFolder()
    // Through the shell: another test's child may still have a program open that was just written ("text file busy").
    try ProxyProcess.write("cat \(folder)/value\n", to: folder + "/helper")
    try ProxyProcess.write("one-5ecret", to: folder + "/value")
    let secret = "{command: [/bin/sh, \(folder)/helper], refresh: 1s}"
    let text = try Configuration.https("credential: helper", top: "  helper: {bearer: {token: \(secret)}}")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo").received()["Authorization"] == "Bearer one-5ecret")
      try ProxyProcess.write("two-5ecret", to: folder + "/value")
      #expect(try eventually { try proxy.ask("http://api.test/echo").received()["Authorization"] == "Bearer two-5ecret" })
      try FileManager.default.removeItem(atPath: folder + "/value")
      #expect(
        proxy.process.awaitLine(where: { $0.contains("old content stays in use") && $0.contains("exited with status 1") })
          != nil)
      #expect(try proxy.ask("http://api.test/echo").received()["Authorization"] == "Bearer two-5ecret")
    }
  }

  // MARK: The log

  @Test func `level, format and file of the log follow a reload, and SIGUSR1 opens the file anew`() throws {
    let folder = try Surroundings.newFolder()
    let path = folder + "/proxy.log"
    func log() -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
    try withProxy(try Configuration.https()) { proxy throws in
      try ProxyProcess.write(
        try ProxyProcess.complete(try listen(proxy) + Configuration.https(top: "log: {file: \(path), format: text}")),
        to: proxy.configurationPath)
      proxy.process.signal(SIGHUP)
      #expect(try eventually { log().contains("configuration reloaded") })
      #expect(try proxy.ask("http://api.test/first").status == 200)
      #expect(try eventually { log().contains("path=/first") })
      try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
      proxy.process.signal(SIGUSR1)
      #expect(try eventually { FileManager.default.fileExists(atPath: path) })
      #expect(try proxy.ask("http://api.test/second").status == 200)
      #expect(try eventually { log().contains("path=/second") })
      try ProxyProcess.write(
        try ProxyProcess.complete(try listen(proxy) + Configuration.https(top: "log: {level: error}")),
        to: proxy.configurationPath)
      let lines = proxy.process.lines.count
      proxy.process.signal(SIGHUP)
      #expect(try proxy.ask("http://api.test/third").status == 200)
      #expect(proxy.process.awaitLine(from: lines, where: { $0.contains("/third") }) != nil)
      #expect(!proxy.process.lines.dropFirst(lines).contains { $0.contains("configuration reloaded") })
    }
  }
}
