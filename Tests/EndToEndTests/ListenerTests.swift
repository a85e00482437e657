import Foundation
import Testing

@Suite struct ListenerTests {
  @Test func `TCP on both families and unix sockets are served at once, in the logged order`() throws {
    let folder = try Surroundings.newFolder()
    let listen = """
      listen:
        - 127.0.0.1:0
        - "[::1]:0"
        - address: unix:\(folder)/proxy.sock
          mode: "0600"

      """
    try withProxy(listen + Configuration.https()) { proxy in
      try #require(proxy.addresses.count == 3, "\(proxy.addresses)")
      #expect(proxy.addresses[1].hasPrefix("[::1]:"))
      #expect(proxy.addresses[2].hasSuffix("\(folder)/proxy.sock"))
      let v6 = Int(proxy.addresses[1].split(separator: ":").last ?? "") ?? 0
      let connections = [
        try proxy.connect(), try RawConnection(port: v6, host: "::1"), try RawConnection(unixPath: folder + "/proxy.sock"),
      ]
      for connection in connections {
        try connection.send(ProxyProcess.request("GET", "http://api.test/"))
        #expect(try connection.readAnswer().status == 200)
      }
      let mode = try FileManager.default.attributesOfItem(atPath: folder + "/proxy.sock")[.posixPermissions] as? Int
      #expect(mode == 0o600)
    }
  }

  @Test func `an inherited descriptor is served`() throws {
    let inherited = try TestListener(backlog: 64)
    let proxy = try ProxyProcess(
      "listen: {address: fd:3, clients: optional}\n" + Configuration.https(), descriptors: [3: inherited.descriptor])
    defer { proxy.stop() }
    let connection = try RawConnection(port: inherited.port)
    try connection.send(ProxyProcess.request("GET", "http://api.test/"))
    #expect(try connection.readAnswer().status == 200)
  }

  @Test func `a unix socket left behind by a crash is replaced`() throws {
    let folder = try Surroundings.newFolder()
    let configuration = "listen: unix:\(folder)/proxy.sock\n" + (try Configuration.https())
    let crashed = try ProxyProcess(configuration)
    crashed.process.signal(SIGKILL)
    _ = crashed.process.awaitEnd()
    #expect(FileManager.default.fileExists(atPath: folder + "/proxy.sock"))
    try withProxy(configuration) { _ in
      let connection = try RawConnection(unixPath: folder + "/proxy.sock")
      try connection.send(ProxyProcess.request("GET", "http://api.test/"))
      #expect(try connection.readAnswer().status == 200)
    }
  }

  @Test func `an origin at an IPv6 address is reached`() throws {
    let origin = try Origin.shared()
    let configuration = """
      upstreams:
        - match: six.test
          origin: http://[::1]:\(origin.ports.http6)
      """
    try withProxy(configuration) { proxy in
      let received = try proxy.ask("http://six.test/echo").received()
      #expect(received["Host"] == "[::1]:\(origin.ports.http6)")
    }
  }
}
