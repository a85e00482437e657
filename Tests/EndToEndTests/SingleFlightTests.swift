import Foundation
import Testing

/// Any number of requests on any number of loops: one token request at a time, which belongs to no request.
@Suite struct SingleFlightTests {
  @Test func `a crowd that finds no token causes one token request`() throws {
    let server = try TokenServer()
    try server.holdNext()
    try withProxy(try server.configuration(top: "threads: 4")) { proxy in
      let clients = try (0..<200).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", server.url())) }
      try server.origin.await(server.name, gate: "on")
      #expect(clients[199].staysSilent(for: 0.2))
      try server.openGate()
      for client in clients { #expect(try client.readAnswer().status == 200) }
      let state = try server.state()
      #expect(state.requests.count == 1)
      #expect(state.uses.count == 200)
    }
  }

  @Test func `a client that leaves does not take the token request along`() throws {
    let server = try TokenServer()
    try server.holdNext()
    try withProxy(try server.configuration(top: "threads: 2")) { proxy in
      let first = try proxy.connect()
      try first.send(ProxyProcess.request("GET", server.url("first")))
      try server.origin.await(server.name, gate: "on")
      first.reset()
      let second = try proxy.connect()
      try second.send(ProxyProcess.request("GET", server.url("second")))
      #expect(second.staysSilent(for: 0.2))
      try server.openGate()
      #expect(try second.readAnswer().status == 200)
      let state = try server.state()
      #expect(state.requests.count == 1)
      #expect(state.uses.map(\.path) == ["second"])
    }
  }

  @Test func `its failure answers all who wait at once`() throws {
    let server = try TokenServer()
    try server.set(#"{"queue": [{"gate": "on", "status": 503, "fields": {"Retry-After": "7"}}]}"#)
    try withProxy(try server.configuration(top: "threads: 4")) { proxy in
      let clients = try (0..<50).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", server.url())) }
      try server.origin.await(server.name, gate: "on")
      #expect(clients[49].staysSilent(for: 0.2))
      try server.openGate()
      for client in clients {
        let answer = try client.readAnswer()
        expectOwnAnswer(answer, 503, "proxy_internal_response")
        #expect(answer["Retry-After"] == "7")
      }
      #expect(try server.state().requests.count == 1)
      #expect(try server.state().uses.isEmpty)
    }
  }
}
