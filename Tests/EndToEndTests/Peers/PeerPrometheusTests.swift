import Foundation
import Testing

/// The alerts and the dashboard, judged by Prometheus.
@Suite struct PeerPrometheusTests {
  private func promtool(_ arguments: String...) throws {
    let done = try ChildProcess.run("promtool", arguments, folder: Surroundings.root)
    #expect(done.status == .exited(0), "\(done.output)\(done.errors)")
  }

  @Test(.needs("promtool")) func `promtool accepts the alerts`() throws { try promtool("check", "rules", "docs/alerts.yml") }

  @Test(.needs("promtool")) func `alerts fire when they should, and not before`() throws {
    try promtool("test", "rules", "Tests/Support/peers/alerts_test.yml")
  }

  private struct Dashboard: Decodable {
    struct Panel: Decodable {
      struct Target: Decodable { let expr: String }
      let title: String
      let targets: [Target]?
    }
    let panels: [Panel]

    /// Of all panels, as Prometheus gets them from Grafana.
    static func expressions() throws -> [(title: String, text: String)] {
      let file = try Data(contentsOf: URL(fileURLWithPath: Surroundings.root + "/docs/grafana.json"))
      return try JSONDecoder().decode(Self.self, from: file).panels.flatMap { panel in
        (panel.targets ?? []).map { target in
          let text = target.expr.replacing("$__rate_interval", with: "5s").replacing(/\$(instance|upstream)/, with: ".*")
          return (panel.title, text)
        }
      }
    }
  }

  @Test(.needs("prometheus")) func `Prometheus answers every question of the dashboard, and those about requests with figures`()
    throws
  {
    try withProxy("admin: 127.0.0.1:0\n" + Configuration.https()) { proxy throws in
      let server = try PrometheusServer(scraping: proxy.adminPort)
      defer { server.process.signal(SIGTERM) }
      let figures = ["Requests", "Errors", "Traffic", "Latency", "The origin's own time", "Connections to origins", "Memory"]
      let questions = try Dashboard.expressions()
      #expect(questions.count > 50)
      // A rate needs two scrapes.
      let rate = try #require(questions.first { $0.title == "Latency" })
      let hasRates = try eventually(seconds: 30) {
        _ = try proxy.ask("http://api.test/")
        return try server.ask(rate.text).contains { $0.isFinite }
      }
      #expect(hasRates)
      for (title, text) in questions {
        let values = try server.ask(text)
        if figures.contains(title) { #expect(!values.isEmpty, "\(title): \(text)") }
      }
    }
  }
}

/// Prometheus, with one target.
private struct PrometheusServer {
  let process: ChildProcess
  private let port: ReservedPort

  init(scraping target: Int) throws {
    let folder = try Surroundings.newFolder()
    let configuration = """
      global: {scrape_interval: 1s}
      scrape_configs: [{job_name: authproxy, static_configs: [{targets: ["127.0.0.1:\(target)"]}]}]
      """
    try ProxyProcess.write(configuration, to: folder + "/prometheus.yml")
    port = try ReservedPort()
    let arguments = [
      "--config.file=\(folder)/prometheus.yml", "--storage.tsdb.path=\(folder)/data",
      "--web.listen-address=127.0.0.1:\(port.port)",
    ]
    process = try ChildProcess("sh", ["-c", "exec prometheus \"$@\" 2>&1", "sh"] + arguments)
    guard process.awaitLine(seconds: 30, where: { $0.contains("Server is ready to receive web requests") }) != nil else {
      throw HarnessError("prometheus: \(process.output)")
    }
  }

  private struct Reply: Decodable {
    struct Content: Decodable {
      struct Sample: Decodable {
        let value: Double
        init(from decoder: Decoder) throws {
          var pair = try decoder.container(keyedBy: Key.self).nestedUnkeyedContainer(forKey: .value)
          _ = try pair.decode(Double.self)
          value = Double(try pair.decode(String.self)) ?? .nan
        }
        enum Key: CodingKey { case value }
      }
      let result: [Sample]
    }
    let status: String
    let data: Content?
    let error: String?
  }

  /// The values of an instant query.
  func ask(_ expression: String) throws -> [Double] {
    let asked = try ChildProcess.run(
      "curl",
      ["-sG", "--noproxy", "*", "--data-urlencode", "query=\(expression)", "http://127.0.0.1:\(port.port)/api/v1/query"])
    let reply = try JSONDecoder().decode(Reply.self, from: Data(asked.output.utf8))
    guard reply.status == "success", let data = reply.data else { throw HarnessError("\(expression): \(reply.error ?? "")") }
    return data.result.map(\.value)
  }
}
