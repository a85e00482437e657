import Foundation
import Testing

@Suite struct ClientAccessTests {
  private func basic(_ name: String, _ password: String) -> String {
    "Proxy-Authorization: Basic \(Data("\(name):\(password)".utf8).base64EncodedString())"
  }

  private let clients = """
    clients:
      - name: billing
        password: billing-5ecret
        allow: [api.test]
      - name: backup
        password: "colon:5ecret"
        allow: ["127.0.0.1"]

    """

  @Test func `without a password 407, with a wrong one 407, with the right one the request, without its Proxy-Authorization`()
    throws
  {
    try withProxy(try clients + Configuration.https()) { proxy throws in
      let without = try proxy.ask("http://api.test/")
      expectOwnAnswer(without, 407, "http_request_denied")
      #expect(without["Proxy-Authenticate"]?.hasPrefix("Basic realm=") == true)
      let wrong: [(String, [String])] = [
        ("password", [basic("billing", "nope-5ecret")]), ("empty password", [basic("billing", "")]),
        ("name", [basic("nobody", "billing-5ecret")]), ("case of the name", [basic("Billing", "billing-5ecret")]),
        ("longer", [basic("billing", "billing-5ecret2")]), ("another's", [basic("backup", "billing-5ecret")]),
        ("scheme", ["Proxy-Authorization: Bearer billing-5ecret"]), ("no base64", ["Proxy-Authorization: Basic ???"]),
        ("twice", [basic("billing", "billing-5ecret"), basic("billing", "billing-5ecret")]),
        ("the origin's field", ["Authorization: Basic \(Data("billing:billing-5ecret".utf8).base64EncodedString())"]),
      ]
      each(wrong) { what, fields throws in
        #expect(try proxy.ask("http://api.test/", fields).status == 407, "\(what)")
      }
      let right = try proxy.ask("http://api.test/echo", [basic("billing", "billing-5ecret")])
      #expect(right.status == 200)
      #expect(try right.received()["Proxy-Authorization"] == nil)
      #expect(proxy.process.awaitLine(where: { $0.contains(#""path":"/echo""#) })?.contains(#""client":"billing""#) == true)
    }
  }

  @Test
  func `after a 407 the same connection is good for the right password, and a right one does not excuse a later wrong one`()
    throws
  {
    try withProxy(try clients + Configuration.https()) { proxy throws in
      let client = try proxy.connect()
      let steps: [([String], Int)] = [
        ([], 407), ([basic("billing", "billing-5ecret")], 200), ([basic("billing", "billing-5ecret")], 200),
        ([basic("billing", "wrong-5ecret")], 407), ([], 407),
        ([basic("billing", "billing-5ecret"), basic("billing", "billing-5ecret")], 407),
        ([basic("billing", "billing-5ecret")], 200),
      ]
      for (fields, status) in steps {
        try client.send(ProxyProcess.request("GET", "http://api.test/", fields))
        #expect(try client.readAnswer().status == status, "\(fields)")
      }
    }
  }

  @Test func `allow is per client: upstreams by name, tunnels by pattern`() throws {
    let far = try TestListener()
    let more = "connect: {allow: [127.0.0.1]}\nforbidden_addresses: []\n"
    try withProxy(try clients + more + Configuration.https()) { proxy throws in
      expectOwnAnswer(try proxy.ask("http://api.test/", [basic("backup", "colon:5ecret")]), 403, "http_request_denied")
      let target = "127.0.0.1:\(far.port)"
      let denied = try proxy.ask("CONNECT", target, [basic("billing", "billing-5ecret")])
      expectOwnAnswer(denied, 403, "http_request_denied")
      #expect(try proxy.ask("CONNECT", target).status == 407)
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("CONNECT", target, [basic("backup", "colon:5ecret")]))
      #expect(try client.readAnswer(to: "CONNECT").status == 200)
    }
  }

  @Test
  func `an optional listener lets anonymous clients reach what anonymous allows, and wrong credentials are 407 there, too`()
    throws
  {
    let optional = "listen: {address: \"127.0.0.1:0\", clients: optional}\n"
    try withProxy(try optional + clients + Configuration.https()) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 403)
      #expect(try proxy.ask("http://api.test/", [basic("billing", "x-5ecret")]).status == 407)
      #expect(try proxy.ask("http://api.test/", [basic("billing", "billing-5ecret")]).status == 200)
    }
    try withProxy(try optional + clients + "anonymous: {allow: [api.test]}\n" + Configuration.https()) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      #expect(try proxy.ask("http://api.test/", [basic("billing", "x-5ecret")]).status == 407)
    }
  }

  @Test func `clients are known by address, too`() throws {
    let byAddress = "clients: [{name: local, from: [127.0.0.0/8], allow: [api.test]}, {name: far, from: [10.0.0.0/8]}]\n"
    try withProxy(try byAddress + Configuration.https()) { proxy throws in
      #expect(try proxy.ask("http://api.test/known").status == 200)
      #expect(proxy.process.awaitLine(where: { $0.contains("/known") })?.contains(#""client":"local""#) == true)
    }
    try withProxy(try "clients: [{name: far, from: [10.0.0.0/8]}]\n" + Configuration.https()) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 407)
    }
  }

  @Test func `the same host has an entry, and a credential, per client`() throws {
    let origin = try Origin.shared()
    let text = """
      clients:
        - {name: one, password: one-5ecret}
        - {name: two, password: two-5ecret}
        - {name: three, password: three-5ecret}
      upstreams:
        - {name: for-one, match: api.test, clients: [one], origin: "https://localhost:\(origin.ports.https)", credential: one}
        - {name: for-two, match: api.test, clients: [two], origin: "https://localhost:\(origin.ports.https)", credential: two}
      credentials:
        one: {bearer: {token: tok-one-5ecret}}
        two: {bearer: {token: tok-two-5ecret}}
      """
    try withProxy(text) { proxy throws in
      let client = try proxy.connect()
      for name in ["one", "two", "one"] {
        try client.send(ProxyProcess.request("GET", "http://api.test/echo", [basic(name, "\(name)-5ecret")]))
        #expect(try client.readAnswer().received()["Authorization"] == "Bearer tok-\(name)-5ecret")
      }
      expectOwnAnswer(try proxy.ask("http://api.test/", [basic("three", "three-5ecret")]), 403, "http_request_denied")
    }
  }

  @Test func `requests inside a CONNECT to an entry are its client's, until a reload changes who that is`() throws {
    try withProxy(try clients + Configuration.https()) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("CONNECT", "api.test:80", [basic("billing", "billing-5ecret")]))
      #expect(try client.readAnswer(to: "CONNECT").status == 200)
      func ask() throws -> Int {
        try client.send("GET /inside HTTP/1.1\r\nHost: api.test\r\n\r\n")
        return try client.readAnswer().status
      }
      #expect(try ask() == 200)
      #expect(proxy.process.awaitLine(where: { $0.contains("/inside") })?.contains(#""client":"billing""#) == true)
      let listen = "listen: \(proxy.addresses[0])\n"
      try proxy.reload(
        try listen + clients.replacingOccurrences(of: "billing-5ecret", with: "new-5ecret") + Configuration.https())
      #expect(try ask() == 407)
    }
  }

  @Test func `a changed password counts for the next request on a connection that stands, over any number of reloads`() throws {
    try withProxy(try clients + Configuration.https()) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/", [basic("billing", "billing-5ecret")]))
      #expect(try client.readAnswer().status == 200)
      let listen = "listen: \(proxy.addresses[0])\n"
      for round in 1...6 {
        let changed = clients.replacingOccurrences(of: "billing-5ecret", with: "round\(round)-5ecret")
        try proxy.reload(try listen + changed + Configuration.https())
      }
      try client.send(ProxyProcess.request("GET", "http://api.test/", [basic("billing", "billing-5ecret")]))
      #expect(try client.readAnswer().status == 407)
    }
  }

  @Test func `a unix socket is for whom its mode says, by default its owner alone`() throws {
    let folder = try Surroundings.newFolder()
    let group = getgid()
    let text = """
      listen:
        - 127.0.0.1:0
        - unix:\(folder)/default.sock
        - {address: "unix:\(folder)/group.sock", mode: "0660", group: "\(group)"}

      """
    try withProxy(try text + Configuration.https()) { _ throws in
      func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: folder + name)[.posixPermissions] as? Int
      }
      #expect(try mode("/default.sock") == 0o600)
      #expect(try mode("/group.sock") == 0o660)
    }
  }
}
