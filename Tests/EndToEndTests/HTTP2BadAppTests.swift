import Foundation
import Testing

/// Apps that speak HTTP/2 and do not read: what is held for them is given back.
@Suite struct HTTP2BadAppTests {
  private static func configuration() throws -> String {
    try Intercepted.configuration(
      entry: "http_version: auto", top: "timeouts: {stall: 2s, idle: 60s}\nadmin: {address: \"127.0.0.1:0\"}")
  }

  private static func awaitNoClients(_ proxy: ProxyProcess) throws {
    #expect(try eventually(seconds: 20) { try proxy.metric("authproxy_client_connections") == 0 })
  }

  @Test func `answers that an app gives no room for end with its connection, though they are whole`() throws {
    try withProxy(try Self.configuration()) { proxy throws in
      let seen = try HTTP2App(proxy, [], "--path", "/bytes/1000", "--requests", "50", "--window", "0", "--patience", "40")
      #expect(seen.end != "open" && seen.answers == 50, "\(seen)")
      try Self.awaitNoClients(proxy)
    }
  }

  @Test func `and so they do if it shows by PINGs that it is there`() throws {
    try withProxy(try Self.configuration()) { proxy throws in
      let seen = try HTTP2App(
        proxy, [], "--path", "/bytes/1000", "--requests", "50", "--window", "0", "--patience", "40", "--ping-every", "0.5")
      #expect(seen.end != "open" && seen.answers == 50, "\(seen)")
      try Self.awaitNoClients(proxy)
    }
  }

  @Test func `one of them alone ends, if others go on`() throws {
    let origin = try HTTP2Origin()
    try origin.script("shut", HTTP2Origin.Step.answer("body"))
    try origin.script("held", [.awaitEnd, .gate("on"), .only([[":status", "204"]])])
    try withProxy(origin.interception(top: "timeouts: {stall: 2s}\nthreads: 1")) { proxy throws in
      let requests = [HTTP2App.get("/?id=shut"), HTTP2App.get("/?id=held")]
      let app = try HTTP2App.start(proxy, requests, ["--window", "0", "--until-answered", "--ping-every", "0.5"])
      try origin.await(.standing, of: "on")
      // Longer than the stall time.
      usleep(3_500_000)
      try origin.open("on")
      let seen = try app.awaitApp()
      #expect(seen.end == "open" && seen[1].last == .reset(2), "\(seen)")
      #expect(seen.head(3)[":status"] == "204", "\(seen)")
    }
  }

  @Test func `an app that reads nothing loses its connection after the stall time`() throws {
    try withProxy(try Self.configuration()) { proxy throws in
      let seen = try HTTP2App(
        proxy, [], "--path", "/bytes/3000000", "--requests", "20", "--window", "16777216", "--deaf", "--patience", "40")
      #expect(seen.end == "reset", "\(seen)")
      try Self.awaitNoClients(proxy)
    }
  }

  @Test func `one that floods while it reads nothing is closed at once`() throws {
    try withProxy(try Self.configuration()) { proxy throws in
      let seen = try HTTP2App(
        proxy, [], "--path", "/bytes/3000000", "--requests", "20", "--window", "16777216", "--deaf", "--pings", "6000",
        "--patience", "40")
      #expect(seen.end == "reset", "\(seen)")
      #expect(proxy.process.awaitLine { $0.contains("its app broke a bound") } != nil)
      try Self.awaitNoClients(proxy)
    }
  }
}
