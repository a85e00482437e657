import Testing

/// Times that peers name may be longer than the proxy's clock reaches.
@Suite struct HTTP2LongTimesTests {
  @Test func `a certificate without an end serves`() throws {
    let origin = try HTTP2Origin(certificate: Surroundings.pki() + "/endless")
    try withProxy(origin.configuration()) { proxy throws in
      for _ in 0..<2 { #expect(try proxy.ask("http://api.test/").told().connection == 1) }
    }
  }

  @Test(arguments: ["99999999H", "2562048H", "2562047H", "99999999M", "99999999S"])
  func `a call may have all the time that it can say`(_ timeout: String) throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.configuration()) { proxy throws in
      let fields = ["Content-Type: application/grpc", "grpc-timeout: \(timeout)"]
      #expect(try proxy.ask("POST", "http://api.test/", fields, body: "x").told()["grpc-timeout"] == timeout)
    }
  }
}
