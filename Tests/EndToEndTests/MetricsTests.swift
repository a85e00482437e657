import Foundation
import Testing

@Suite struct MetricsTests {
  private let admin = "admin: 127.0.0.1:0\n"

  /// Prometheus' own parser: family name to type and samples.
  private func parse(_ text: String) throws -> [String: [String: Any]] {
    let program = """
      import json, sys
      from prometheus_client.parser import text_string_to_metric_families as parse
      families = {}
      for f in parse(sys.stdin.read()):
          assert f.documentation, f.name
          families[f.name] = {"type": f.type, "samples": [[s.name, s.labels, s.value] for s in f.samples]}
      print(json.dumps(families))
      """
    let parsed = try ChildProcess.run(Surroundings.python, ["-c", program], input: text)
    guard parsed.status == .exited(0),
      let families = try JSONSerialization.jsonObject(with: Data(parsed.output.utf8)) as? [String: [String: Any]]
    else { throw HarnessError("prometheus_client: \(parsed.errors)") }
    return families
  }

  @Test func `Prometheus' own parser reads every metric of the documentation, with its type`() throws {
    try withProxy(try admin + Configuration.https()) { proxy throws in
      for path in ["/", "/status/404", "/echo"] { _ = try proxy.ask("http://api.test\(path)") }
      _ = try proxy.ask("http://not-listed.test/")
      let families = try parse(try proxy.admin("metrics").text)
      let documented = try String(contentsOfFile: Surroundings.root + "/docs/metrics.md", encoding: .utf8)
      var count = 0
      for line in documented.split(separator: "\n") where line.hasPrefix("| `") {
        let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        let name = cells[0].split(separator: "`")[0].split(separator: "{")[0]
        // The parser removes the ending of a counter's name.
        let family = name.hasSuffix("_total") ? String(name.dropLast(6)) : String(name)
        let found = try #require(families[family], "\(name) is documented, but not there")
        #expect(found["type"] as? String == cells[1], "\(name)")
        count += 1
      }
      #expect(count == families.count, "documented \(count), served \(families.count): \(families.keys.sorted())")
    }
  }

  @Test func `requests are counted by upstream and code, times in histograms, and reuse is seen`() throws {
    try withProxy(try admin + Configuration.https()) { proxy throws in
      let client = try proxy.connect()
      for path in ["/", "/", "/status/503"] {
        try client.send(ProxyProcess.request("GET", "http://api.test\(path)"))
        _ = try client.readAnswer()
      }
      #expect(try proxy.ask("http://nowhere.test/").status == 403)
      #expect(try proxy.metric(#"authproxy_requests_total{upstream="api.test",code="200"}"#) == 2)
      #expect(try proxy.metric(#"authproxy_requests_total{upstream="api.test",code="503"}"#) == 1)
      #expect(try proxy.metric(#"authproxy_requests_total{upstream="none",code="403"}"#) == 1)
      #expect(try proxy.metric(#"authproxy_proxy_errors_total{error="http_request_denied"}"#) == 1)
      #expect(try proxy.metric(#"authproxy_request_duration_seconds_count{upstream="api.test"}"#) == 3)
      #expect(try proxy.metric(#"authproxy_upstream_first_byte_seconds_count{upstream="api.test"}"#) == 3)
      #expect(try proxy.metric(#"authproxy_upstream_connect_seconds_count{upstream="api.test"}"#) == 1)
      #expect(try proxy.metric(#"authproxy_upstream_connection_reuses_total{upstream="api.test"}"#) == 2)
      #expect(try proxy.metric(#"authproxy_upstream_connections{upstream="api.test",state="idle"}"#) == 1)
      #expect(try proxy.metric(#"authproxy_credential_wait_seconds_count{credential="api"}"#) == 3)
      #expect(try proxy.metric("authproxy_client_connections") == 1)
      #expect(try proxy.metric("process_open_fds") ?? 0 > 3)
    }
  }

  @Test func `tunnels are counted while they are open, and do not spoil the times`() throws {
    let far = try TestListener()
    let tunnels = "connect: {allow: [127.0.0.1]}\nforbidden_addresses: []\n"
    try withProxy(try admin + tunnels + Configuration.https()) { proxy throws in
      let client = try proxy.connect()
      try client.send("CONNECT 127.0.0.1:\(far.port) HTTP/1.1\r\nHost: 127.0.0.1:\(far.port)\r\n\r\n")
      let peer = try far.accept()
      #expect(try client.readAnswer(to: "CONNECT").status == 200)
      #expect(try proxy.metric("authproxy_tunnels") == 1)
      peer.close()
      client.close()
      #expect(try eventually { try proxy.metric("authproxy_tunnels") == 0 })
      #expect(try eventually { try proxy.metric(#"authproxy_requests_total{upstream="tunnel",code="200"}"#) == 1 })
      #expect(try proxy.metric(#"authproxy_request_duration_seconds_count{upstream="tunnel"}"#) == nil)
    }
  }

  @Test func `a peer that is not trusted is counted with the evaluator and its reason`() throws {
    let origin = try Origin.shared()
    let text = """
      admin: 127.0.0.1:0
      upstreams:
        - match: api.test
          origin: https://localhost:\(origin.ports.wrong_host)
      """
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 502)
      let line = try proxy.admin("metrics").text.split(separator: "\n").first {
        $0.hasPrefix("authproxy_trust_failures_total{")
      }
      #expect(line?.contains(#"upstream="api.test",evaluator=""#) == true, "\(line ?? "none")")
      #expect(line?.hasSuffix(" 1") == true)
    }
  }

  @Test func `a thousand hosts and paths bring no new series`() throws {
    try withProxy(try admin + "unlisted_hosts: forward\n" + Configuration.https()) { proxy throws in
      func series() throws -> Set<Substring> {
        Set(try proxy.admin("metrics").text.split(separator: "\n").map { $0.prefix { $0 != " " } })
      }
      let client = try proxy.connect()
      func ask(_ index: Int) throws {
        try client.send(ProxyProcess.request("GET", "http://127.0.0.\(index % 250 + 2):1/\(index)"))
        _ = try client.readAnswer()
      }
      try ask(0)
      let before = try series()
      for index in 1..<300 { try ask(index) }
      #expect(try series() == before)
      #expect(try proxy.metric(#"authproxy_requests_total{upstream="unlisted",code="403"}"#) == 300)
    }
  }

  @Test func `counts live through a reload, and go with their entry`() throws {
    try withProxy(try admin + Configuration.https()) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      let listen = "listen: \(proxy.addresses[0])\nadmin: 127.0.0.1:\(proxy.adminPort)\n"
      let second = "\nunlisted_hosts: forward"
      try proxy.reload(try listen + Configuration.https(top: second))
      #expect(try proxy.ask("http://api.test/").status == 200)
      #expect(try proxy.metric(#"authproxy_requests_total{upstream="api.test",code="200"}"#) == 2)
      #expect(try proxy.metric("authproxy_config_generation") == 2)
      try proxy.reload(listen + "upstreams: [{match: other.test, origin: \"http://127.0.0.1:1\"}]\n")
      #expect(try proxy.metric(#"authproxy_requests_total{upstream="api.test",code="200"}"#) == nil)
    }
  }
}
