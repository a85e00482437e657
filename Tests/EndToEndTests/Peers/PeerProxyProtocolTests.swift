import Foundation
import Testing

/// Load balancers by other hands, which send PROXY headers.
@Suite struct PeerProxyProtocolTests {
  private static let module = "/usr/lib/nginx/modules/ngx_stream_module.so"

  private func configuration(_ listen: String, top: String = "") throws -> String {
    """
    listen: \(listen)
    admin: 127.0.0.1:0
    clients: [{name: shop, from: [127.0.0.8]}, {name: six, from: ["::1"]}]

    """ + (try Intercepted.configuration(match: "[https://api.test, api.test]", top: top))
  }

  /// HAProxy on a socket of the test, in front of `server`.
  private func haproxy(_ listener: TestListener, _ server: String, frontend: String = "") throws -> ChildProcess {
    let folder = try Surroundings.newFolder()
    let text = """
      global
        maxconn 200
      defaults
        mode tcp
        timeout connect 10s
        timeout client 60s
        timeout server 60s
      frontend apps
        bind fd@5
        \(frontend)
        default_backend authproxy
      backend authproxy
        server one \(server)

      """
    try ProxyProcess.write(text, to: folder + "/haproxy.cfg")
    return try ChildProcess("haproxy", ["-db", "-f", folder + "/haproxy.cfg"], descriptors: [5: listener.descriptor])
  }

  private func nginx(_ address: String, _ target: String) throws -> ChildProcess {
    let folder = try Surroundings.newFolder()
    let text = """
      load_module \(Self.module);
      daemon off; master_process off; pid \(folder)/pid; error_log \(folder)/errors;
      events { }
      stream { server { listen \(address); proxy_pass \(target); proxy_protocol on; } }

      """
    try ProxyProcess.write(text, to: folder + "/nginx.conf")
    return try ChildProcess("nginx", ["-e", folder + "/errors", "-c", folder + "/nginx.conf", "-p", folder])
  }

  /// Asks through the balancer, from an address of which the proxy knows a client.
  private func expectBelieved(_ proxy: ProxyProcess, through port: Int, host: String = "127.0.0.1", as name: String = "shop")
    throws
  {
    let own = host.contains(":") ? "[::1]" : "127.0.0.8"
    for number in 0..<20 {
      let path = "/\(name)-\(Origin.newName())"
      let client = try RawConnection(port: port, host: host, from: host.contains(":") ? nil : own)
      try client.send(ProxyProcess.request(number % 2 == 0 ? "GET" : "HEAD", "http://api.test\(path)"))
      #expect(try client.readAnswer(to: number % 2 == 0 ? "GET" : "HEAD").status == 200)
      let line = proxy.process.awaitLine { $0.contains(path) } ?? ""
      #expect(line.contains(#""client":"\#(name)""#) && line.contains(#""peer":"\#(own):"#), "\(line)")
      #expect(line.contains(#""sender":"127.0.0.1:"#) || line.contains(#""sender":"unix:"#), "\(line)")
    }
    #expect(try proxy.metric(#"authproxy_proxy_protocol_errors_total{listener="\#(proxy.addresses[0])"}"#) == 0)
  }

  /// The balancer accepts connections, and reaches the proxy.
  private func awaitReady(_ balancer: ChildProcess, _ port: Int) throws {
    let isReady = try eventually {
      guard let client = try? RawConnection(port: port, from: "127.0.0.8") else { return false }
      try? client.send(ProxyProcess.request("GET", "http://api.test/"))
      return (try? client.readAnswer().status) == 200
    }
    if !isReady { throw HarnessError("no way through the balancer: \(balancer.output)\(balancer.errors)") }
  }

  @Test(
    .needs("haproxy"),
    arguments: [
      "send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options crc32c,ssl,cert-cn,authority,unique-id",
    ])
  func `HAProxy, either version, with TLVs`(_ options: String) throws {
    try withProxy(try configuration("{address: 127.0.0.1:0, proxy_protocol: [127.0.0.1]}")) { proxy throws in
      let listener = try TestListener(backlog: 64)
      let unique = "unique-id-format %{+X}o\\ " + String(repeating: "%ci:%cp_", count: 6)
      let balancer = try haproxy(listener, "\(proxy.addresses[0]) \(options)", frontend: unique)
      defer { balancer.signal(SIGKILL) }
      try awaitReady(balancer, listener.port)
      try expectBelieved(proxy, through: listener.port)
    }
  }

  @Test(.needs("haproxy"), arguments: ["send-proxy", "send-proxy-v2"])
  func `HAProxy's health checks are no errors, with and without a header`(_ options: String) throws {
    try withProxy(try configuration("{address: 127.0.0.1:0, proxy_protocol: [127.0.0.1]}")) { proxy throws in
      for check in ["check inter 50ms check-send-proxy", "check inter 50ms"] {
        let listener = try TestListener(backlog: 64)
        let balancer = try haproxy(listener, "\(proxy.addresses[0]) \(options) \(check)")
        defer { balancer.signal(SIGKILL) }
        try awaitReady(balancer, listener.port)
        try expectBelieved(proxy, through: listener.port)
      }
    }
  }

  @Test(.needs("haproxy")) func `HAProxy over a unix socket, and in front of a TLS listener`() throws {
    let folder = try Surroundings.newFolder()
    let text = try configuration("[{address: \"unix:\(folder)/a\", proxy_protocol: [unix]}]")
    try withProxy(text) { proxy throws in
      let listener = try TestListener(backlog: 64)
      let balancer = try haproxy(listener, "unix@\(folder)/a send-proxy-v2")
      defer { balancer.signal(SIGKILL) }
      try awaitReady(balancer, listener.port)
      try expectBelieved(proxy, through: listener.port)
    }
    let secure = "{address: 127.0.0.1:0, tls: {names: [localhost]}, proxy_protocol: [127.0.0.1]}"
    try withProxy(try configuration(secure)) { proxy throws in
      let listener = try TestListener(backlog: 64)
      let balancer = try haproxy(listener, "\(proxy.addresses[0]) send-proxy-v2")
      defer { balancer.signal(SIGKILL) }
      for url in ["http://api.test/echo", "https://api.test/echo"] {
        let got = try ChildProcess.run(
          "curl",
          [
            "-sS", "--noproxy", "", "--retry-connrefused", "--retry", "5", "--interface", "127.0.0.8", "--proxy-cacert",
            proxy.root,
            "--cacert", proxy.root, "-x", "https://localhost:\(listener.port)", "-4", url,
          ])
        #expect(got.output.contains("Bearer \(Configuration.token)"), "\(url): \(got.errors)\(got.output)")
      }
    }
  }

  @Test(.needs("nginx's stream module", "command -v nginx && test -e \(module)"))
  func `nginx's stream module, over IPv4, IPv6 and a unix socket`() throws {
    let folder = try Surroundings.newFolder()
    let local = "{address: \"unix:\(folder)/a\", proxy_protocol: [unix]}"
    try withProxy(try configuration("[{address: 127.0.0.1:0, proxy_protocol: [127.0.0.1]}, \(local)]")) { proxy throws in
      for target in [proxy.addresses[0], "unix:\(folder)/a"] {
        let port = try TestListener().port
        let balancer = try nginx("127.0.0.1:\(port)", target)
        defer { balancer.signal(SIGKILL) }
        try awaitReady(balancer, port)
        try expectBelieved(proxy, through: port)
        let balancerOfSix = try nginx("[::1]:\(port)", target)
        defer { balancerOfSix.signal(SIGKILL) }
        #expect(try eventually { (try? RawConnection(port: port, host: "::1")) != nil })
        try expectBelieved(proxy, through: port, host: "::1", as: "six")
      }
    }
  }

  /// What a balancer in front of `backend` sends before a request.
  private func header(through port: Int, _ backend: TestListener) throws -> [UInt8] {
    let request = ProxyProcess.request("GET", "http://api.test/first")
    let client = try RawConnection(port: port, from: "127.0.0.8")
    try client.send(request)
    let bytes = try backend.accept().read(through: "Host: api.test\r\n\r\n")
    return Array(bytes.dropLast(request.utf8.count))
  }

  /// With 3 KB more in its TLVs, if it is of version 2.
  private func lengthened(_ header: [UInt8]) -> [UInt8] {
    guard header.starts(with: [13, 10]) else { return header }
    var longer = header + BalancerHeader.tlv(3000)
    (longer[14], longer[15]) = (UInt8((longer.count - 16) >> 8), UInt8((longer.count - 16) & 255))
    return longer
  }

  private func expectUncuttable(_ header: [UInt8]) throws {
    try withProxy(try configuration("{address: 127.0.0.1:0, proxy_protocol: [127.0.0.1]}")) { proxy throws in
      let bytes = header + Array(ProxyProcess.request("GET", "http://api.test/").utf8)
      let places = Array(1...header.count)
      for start in stride(from: 0, to: places.count, by: 200) {
        let clients = try places[start..<min(start + 200, places.count)].map { place in
          let client = try proxy.connect()
          try client.send(Array(bytes[..<place]))
          return (place, client)
        }
        for (place, client) in clients { try client.send(Array(bytes[place...])) }
        for (place, client) in clients { #expect(try client.readAnswer().status == 200, "cut at \(place)") }
      }
      #expect(try proxy.metric(#"authproxy_proxy_protocol_errors_total{listener="\#(proxy.addresses[0])"}"#) == 0)
    }
  }

  @Test(.needs("haproxy"), arguments: ["send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options unique-id"])
  func `HAProxy's header may be cut at every byte, with 3 KB of TLVs`(_ options: String) throws {
    let (listener, backend) = (try TestListener(backlog: 64), try TestListener())
    let balancer = try haproxy(
      listener, "127.0.0.1:\(backend.port) \(options)", frontend: "unique-id-format %{+X}o\\ %ci:%cp")
    defer { balancer.signal(SIGKILL) }
    let header = lengthened(try header(through: listener.port, backend))
    #expect(header.count > (options == "send-proxy" ? 20 : 3000))
    try expectUncuttable(header)
  }

  @Test(.needs("nginx's stream module", "command -v nginx && test -e \(module)"))
  func `nginx's header may be cut at every byte`() throws {
    let (port, backend) = (try TestListener().port, try TestListener())
    let balancer = try nginx("127.0.0.1:\(port)", "127.0.0.1:\(backend.port)")
    defer { balancer.signal(SIGKILL) }
    #expect(try eventually { (try? RawConnection(port: port, from: "127.0.0.8")) != nil })
    // That connection has reached the backend, too.
    _ = try backend.accept()
    try expectUncuttable(try header(through: port, backend))
  }
}
