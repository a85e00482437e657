import Foundation
import Testing

/// `decompress`: the app gets identity although the proxy asked the origin for gzip.
@Suite struct DecompressTests {
  @Test func `gzip and deflate become identity, with the fields that go with it`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https("decompress: true")) { proxy in
      let plain = try proxy.ask("http://api.test/bytes/200000").body
      for coding in ["gzip", "deflate"] {
        for more in ["", "&chunked"] {
          let name = Origin.newName()
          let answer = try proxy.ask("http://api.test/encoded/\(coding)/200000?id=\(name)\(more)")
          #expect(answer.status == 200)
          #expect(answer.body == plain, "\(coding)\(more)")
          #expect(answer["Content-Encoding"] == nil)
          #expect(answer["Content-Length"] == nil || answer["Content-Length"] == "200000")
          #expect(answer["ETag"] == "W/\"v1\"")
          #expect(answer.all("Vary").joined(separator: ", ").contains("Accept-Encoding"))
          #expect(answer.all("Vary").joined(separator: ", ").contains("Accept-Language"))
          #expect(try origin.exchanges(name)[0]["Accept-Encoding"]?.contains("gzip") == true)
        }
      }
    }
  }

  @Test func `deflate without zlib's frame is understood, as RFC 9110 section 8.4.1.2 notes that some send it`() throws {
    try withProxy(try Configuration.https("decompress: true")) { proxy throws in
      #expect(
        try proxy.ask("http://api.test/encoded/raw-deflate/200000").body == proxy.ask("http://api.test/bytes/200000").body)
    }
  }

  @Test func `an app that asks for gzip itself gets gzip`() throws {
    try withProxy(try Configuration.https("decompress: true")) { proxy in
      let answer = try proxy.ask("http://api.test/encoded/gzip/1000", ["Accept-Encoding: gzip"])
      #expect(answer["Content-Encoding"] == "gzip")
      #expect(answer.body.starts(with: [0x1f, 0x8b]))
      #expect(answer["ETag"] == "\"v1\"")
    }
  }

  @Test func `without decompress nothing is touched`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let none = try proxy.ask("http://api.test/encoded/gzip/1000")
      #expect(none["Content-Encoding"] == nil)
      #expect(none["ETag"] == "\"v1\"")
      #expect(none.body.count == 1000)
    }
  }

  @Test func `an answer that is not compressed passes as it is`() throws {
    try withProxy(try Configuration.https("decompress: true")) { proxy in
      let answer = try proxy.ask("http://api.test/bytes/1000")
      #expect(answer["Content-Length"] == "1000")
      #expect(answer["ETag"] == "\"v1\"")
      #expect(answer.body.count == 1000)
    }
  }

  @Test func `HEAD, 304 and empty bodies need no decoder`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https("decompress: true")) { proxy in
      #expect(try proxy.ask("HEAD", "http://api.test/encoded/gzip/1000").status == 200)
      for head in [
        "HTTP/1.1 304 Not Modified\r\nContent-Encoding: gzip\r\nETag: \"v1\"\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 204 No\r\nContent-Encoding: gzip\r\n\r\n",
      ] {
        let name = Origin.newName()
        try origin.script(name, [.readBody, .send(head)])
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
        #expect(try client.readAnswer().body.isEmpty)
        try client.send(ProxyProcess.request("GET", "http://api.test/status/202"))
        #expect(try client.readAnswer().status == 202)
      }
    }
  }

  @Test func `a body that is no gzip breaks off, and never looks whole`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name, [.readBody, .send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\nnot gzip!")])
    try withProxy(try Configuration.https("decompress: true")) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      let whole = try? client.readAnswer()
      #expect(whole == nil || whole?.status == 502, "\(whole?.head ?? "")\(whole?.text ?? "")")
    }
  }

  @Test func `a bomb is cut off in bounded memory`() throws {
    try withProxy(try Configuration.https("decompress: true")) { proxy in
      #expect(try proxy.ask("http://api.test/").status == 200)
      let before = try Measures(proxy.pid, resettingPeak: true)
      let result = try LoadGenerator.load(proxy, "http://api.test/bomb", "--requests", "1", seconds: 60)
      #expect(result.good == 0, "\(result)")
      #expect(result.bytes < 1 << 30)
      let after = try Measures(proxy.pid)
      #expect(after.residentPeak - before.resident < 16 << 10, "\(before) \(after)")
    }
  }

  @Test func `an HTTP/1.0 client gets the bytes, unframed`() throws {
    try withProxy(try Configuration.https("decompress: true")) { proxy throws in
      let plain = try proxy.ask("http://api.test/bytes/100000").body
      let client = try proxy.connect()
      try client.send("GET http://api.test/encoded/gzip/100000 HTTP/1.0\r\n\r\n")
      let answer = try client.readAnswer()
      #expect(answer["Transfer-Encoding"] == nil)
      #expect(answer.body == plain)
    }
  }

  @Test func `a coded body that ends with the connection in the middle never looks whole`() throws {
    let listener = try TestListener()
    try withProxy(try Configuration.http("decompress: true", port: listener.port)) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
      let origin = try listener.accept()
      _ = try origin.read(through: "\r\n\r\n")
      // The first 20 of a gzip's 33 bytes.
      try origin.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n")
      try origin.send([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0x28, 0xcf, 0x2f, 0xca])
      origin.close()
      let whole = try? client.readAnswer()
      #expect(whole == nil || whole?.status == 502, "\(whole?.head ?? "")\(whole?.text ?? "")")
    }
  }

  @Test func `HEAD says what GET would, and Vary is not said twice`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https("decompress: true")) { proxy throws in
      let name = Origin.newName()
      try origin.script(
        name,
        [
          .readBody,
          .send(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 33\r\nETag: \"v1\"\r\nVary: Accept-Encoding, Origin\r\n\r\n"
          ),
        ])
      let answer = try proxy.ask("HEAD", "http://api.test/?id=\(name)")
      #expect(answer["Content-Encoding"] == nil)
      #expect(answer["Content-Length"] == nil)
      #expect(answer["ETag"] == "W/\"v1\"")
      #expect(answer.all("Vary") == ["Accept-Encoding, Origin"])
    }
  }

  @Test func `no-transform is obeyed, in requests and in answers`() throws {
    let origin = try Origin.shared()
    try withProxy(try Configuration.https("decompress: true")) { proxy throws in
      let name = Origin.newName()
      let answer = try proxy.ask("http://api.test/encoded/gzip/1000?id=\(name)", ["Cache-Control: no-transform"])
      #expect(answer.body.count == 1000)
      #expect(answer["ETag"] == "\"v1\"")
      #expect(try origin.exchanges(name)[0]["Accept-Encoding"] == nil)
      let told = Origin.newName()
      try origin.script(
        told,
        [
          .readBody,
          .send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nCache-Control: no-transform\r\nContent-Length: 5\r\n\r\nbytes"),
        ])
      let untouched = try proxy.ask("http://api.test/?id=\(told)")
      #expect(untouched["Content-Encoding"] == "gzip")
      #expect(untouched.text == "bytes")
    }
  }
}
