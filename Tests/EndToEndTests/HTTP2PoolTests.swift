import Foundation
import Testing

/// How many requests go on one connection.
@Suite struct HTTP2PoolTests {
  private func send(_ count: Int, _ name: String, _ proxy: ProxyProcess) throws -> [RawConnection] {
    let clients = try (0..<count).map { _ in try proxy.connect() }
    for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)")) }
    return clients
  }

  @Test func `a connection has no more streams than the origin takes`() throws {
    let origin = try HTTP2Origin()
    try origin.set(settings: ["3": 5])
    try origin.script("held", [.gate("on")] + HTTP2Origin.Step.answer("ok"))
    try withProxy(origin.configuration(top: "threads: 1\nlimits: {upstream_connections: 2}")) { proxy throws in
      // The origin's limit is known from here on.
      #expect(try proxy.ask("http://api.test/").status == 200)
      let clients = try send(20, "held", proxy)
      // One client gets at most seven eighths of ten.
      try origin.await(.requests, 8, of: "held")
      #expect(clients[19].staysSilent(for: 0.2))
      #expect(try origin.tell().connections.map(\.most) == [5, 3])
      try origin.open("on")
      for client in clients { #expect(try client.readAnswer().text == "ok") }
      #expect(try origin.tell().connections.allSatisfy { $0.most <= 5 && $0.resets.isEmpty })
    }
  }

  @Test func `a lowered limit holds at once`() throws {
    let origin = try HTTP2Origin()
    try origin.set(settings: ["3": 5])
    try origin.script("held", [.gate("on")] + HTTP2Origin.Step.answer("ok"))
    try origin.script("next", [.gate("next")] + HTTP2Origin.Step.answer("next"))
    try withProxy(origin.configuration(top: "threads: 1\nlimits: {upstream_connections: 1}")) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      let first = try send(4, "held", proxy)
      try origin.await(.requests, 4, of: "held")
      try origin.play([.settings(["3": 2])])
      try origin.open("on")
      for client in first { #expect(try client.readAnswer().text == "ok") }
      let second = try send(6, "next", proxy)
      try origin.await(.standing, 2, of: "next")
      #expect(second[5].staysSilent(for: 0.2))
      #expect(try origin.tell().of("next").count == 2)
      try origin.open("next")
      for client in second { #expect(try client.readAnswer().text == "next") }
      #expect(try origin.tell().connections.count == 1)
    }
  }

  @Test func `limits_upstream_streams holds, too`() throws {
    let origin = try HTTP2Origin()
    try origin.script("held", [.gate("on")] + HTTP2Origin.Step.answer("ok"))
    try withProxy(origin.configuration(top: "threads: 1\nlimits: {upstream_streams: 3}")) { proxy throws in
      let clients = try send(7, "held", proxy)
      try origin.await(.requests, 7, of: "held")
      #expect(try origin.tell().connections.map(\.most).sorted() == [1, 3, 3])
      try origin.open("on")
      for client in clients { #expect(try client.readAnswer().text == "ok") }
    }
  }

  @Test func `an origin that takes no requests now gets no crowd of connections`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration()) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      try origin.play([.settings(["3": 0])])
      // The limit has arrived when the proxy has answered it.
      #expect(try eventually { try origin.tell().connections[0].frames["SETTINGS.ACK"] == 2 })
      let clients = try send(5, "none", proxy)
      #expect(clients[0].staysSilent(for: 0.3))
      #expect(try origin.tell().connections.count == 1)
      try origin.play([.settings(["3": 10])])
      for client in clients { #expect(try client.readAnswer().status == 200) }
      #expect(try origin.tell().connections.count == 1)
    }
  }

  @Test func `a burst that the origin refuses before its SETTINGS arrived is lost to nobody`() throws {
    let origin = try HTTP2Origin()
    try origin.set(settings: ["3": 2])
    try origin.setLate("settings")
    try withProxy(origin.configuration()) { proxy throws in
      let clients = try (0..<10).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("POST", "http://api.test/", body: "x")) }
      try origin.await(.standing, of: "settings")
      try origin.open("settings")
      for client in clients { #expect(try client.readAnswer().status == 200) }
    }
  }

  @Test func `two apps of one share wait for their turn, and all are served`() throws {
    let origin = try HTTP2Origin()
    try origin.set(settings: ["3": 8])
    try withProxy(origin.configuration(top: "threads: 2\nlimits: {upstream_connections: 1}")) { proxy throws in
      let clients = try (0..<60).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/")) }
      for client in clients { #expect(try client.readAnswer().status == 200) }
      #expect(try origin.tell().connections.allSatisfy { $0.most <= 8 })
    }
  }
}
