import Foundation
import Testing

/// Whose an answer is on each kind of listener.
@Suite struct CacheListenerTests {
  private let origin: Origin
  private let folder: String
  init() throws {
    origin = try Origin.shared()
    folder = try Surroundings.newFolder()
  }

  private static func status(_ head: String) -> String {
    head.components(separatedBy: "\r\n").first { $0.hasPrefix("Cache-Status: ") }.map { String($0.dropFirst(14)) } ?? "none"
  }

  @Test(.enabled(if: geteuid() == 0, "root alone can become another user"))
  func `on a unix socket each user has answers of his own`() throws {
    // In a folder that everybody may enter.
    let place = "/tmp/" + Origin.newName()
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
    try #require(chmod(place, 0o755) == 0)
    defer { try? FileManager.default.removeItem(atPath: place) }
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600", bodies: ["root", "nobody", "third"])
    let listen = "listen: [{address: \"unix:\(place)/proxy.sock\", mode: \"0666\"}, 127.0.0.1:0]\n"
    try withProxy(listen + Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      func ask(as user: Int) throws -> (text: String, cache: String) {
        let curl = ["curl", "-sS", "-i", "--unix-socket", "\(place)/proxy.sock", "--request-target", url, "http://api.test/"]
        let command = ["--reuid=\(user)", "--regid=\(user)", "--clear-groups"] + curl
        let done = try ChildProcess.run("setpriv", command)
        #expect(done.status == .exited(0), "\(done.errors)")
        return (done.output.components(separatedBy: "\r\n\r\n").last ?? "", Self.status(done.output))
      }
      for (user, text) in [(0, "root"), (65_534, "nobody")] {
        let miss = try ask(as: user)
        #expect(miss.text == text && miss.cache == "authproxy; fwd=uri-miss; stored", "\(miss)")
      }
      for (user, text) in [(0, "root"), (65_534, "nobody"), (0, "root")] {
        let hit = try ask(as: user)
        #expect(hit.text == text && hit.cache.hasPrefix("authproxy; hit"), "\(hit)")
      }
      // Nor has an address what a user has.
      let port = Int(proxy.addresses[1].split(separator: ":").last ?? "") ?? 0
      let other = try RawConnection(port: port)
      try other.send(ProxyProcess.request("GET", url))
      #expect(try other.readAnswer().text == "third")
      #expect(try origin.exchanges(name).count == 3)
    }
  }

  /// `https://api.test` and `http://api.test` by any of two listeners.
  private func configuration(_ share: String) throws -> String {
    let listen =
      "listen: [{address: 127.0.0.1:0, clients: required}, {address: 127.0.0.1:0, clients: required, tls: {names: [localhost]}}]\n"
    let cache = "cache: {share: \(share)}"
    let port = origin.ports.https
    let clear = "  - {name: clear, match: api.test, origin: \"https://localhost:\(port)\", credential: api, \(cache)}"
    let top = Marks.clients("ann", "bob") + "\nadmin: 127.0.0.1:0\nintercept: {ca: {generate: \(folder)/ca}}"
    return listen + (try Intercepted.configuration(entry: cache, entries: clear, top: top))
  }

  private func curl(_ proxy: ProxyProcess, _ listener: Int, _ url: String, as client: String) throws -> (
    text: String, cache: String
  ) {
    let port = proxy.addresses[listener].split(separator: ":").last ?? ""
    let root = folder + "/ca/ca.pem"
    let through = listener == 0 ? "http://localhost:\(port)" : "https://localhost:\(port)"
    let done = try ChildProcess.run(
      "curl",
      [
        "-sS", "-i", "--suppress-connect-headers", "--noproxy", "", "--proxy-cacert", root, "--cacert", root, "-x", through,
        "-U", "\(client):\(client)-5ecret", url,
      ])
    #expect(done.status == .exited(0), "\(done.errors)")
    return (done.output.components(separatedBy: "\r\n\r\n").last ?? "", Self.status(done.output))
  }

  @Test(arguments: ["http", "https"])
  func `TLS listeners and intercepted TLS store and hit, for each client by itself`(_ scheme: String) throws {
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600", bodies: ["ann", "bob", "more"])
    try withProxy(try configuration("client")) { proxy throws in
      let url = "\(scheme)://api.test/?id=\(name)"
      for (round, listener) in [(0, 0), (0, 1), (1, 1), (1, 0)] {
        for client in ["ann", "bob"] {
          let seen = try curl(proxy, listener, url, as: client)
          #expect(seen.text == client)
          let isFirst = round == 0 && listener == 0
          #expect(seen.cache.hasPrefix(isFirst ? "authproxy; fwd=uri-miss; stored" : "authproxy; hit"), "\(seen)")
        }
      }
      #expect(try origin.exchanges(name).count == 2)
      #expect(try proxy.metric("authproxy_cache_objects") == 2)
    }
  }

  @Test func `where answers are shared, inside and outside of TLS are still two matches`() throws {
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600", bodies: ["http", "https", "more"])
    try withProxy(try configuration("all")) { proxy throws in
      for scheme in ["http", "https"] {
        for client in ["ann", "bob"] {
          for listener in 0..<2 {
            #expect(try curl(proxy, listener, "\(scheme)://api.test/?id=\(name)", as: client).text == scheme)
          }
        }
      }
      #expect(try origin.exchanges(name).count == 2)
    }
  }
}
