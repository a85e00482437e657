import Foundation
import Testing

/// Uploads in signed chunks that end before their time, or would have to go twice.
@Suite struct SigV4CutUploadTests {
  private static let s3 = "service: s3, region: eu-central-1, \(AWSServer.keys)"
  private static let fields = [
    AWSServer.dummy("s3"), "X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "Content-Encoding: aws-chunked",
  ]
  private static let expired = #"[403, "application/xml", "<Error><Code>ExpiredToken</Code></Error>", []]"#

  /// Chunks of 64 KiB.
  private func upload(_ count: Int) -> (body: String, fields: [String]) {
    let piece = String(repeating: "x", count: 65_536)
    let length = "X-Amz-Decoded-Content-Length: \(count * 65_536)"
    return (AWSServer.chunks(Array(repeating: piece, count: count)), Self.fields + [length])
  }

  /// Sends until the proxy has answered, or takes no more.
  private func ask(_ proxy: ProxyProcess, _ upload: (body: String, fields: [String])) throws -> Answer {
    let client = try proxy.connect()
    try? client.send(ProxyProcess.request("PUT", "http://api.test/k", upload.fields, body: upload.body))
    return try client.readAnswer()
  }

  @Test func `an origin that closes while chunks are signed again is 502, and its connection is not used again`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration(Self.s3, top: "limits: {replay_body: 16KiB}")) { proxy throws in
      for bytes in [1, 70_000, 200_000] {
        try server.set(#"{"cut": {"bytes": \#(bytes)}}"#)
        let answer = try ask(proxy, upload(64))
        #expect(answer.status == 502, "\(bytes): \(answer.head)")
        #expect(try server.seen().map(\.why) == ["cut"], "\(bytes)")
        #expect(try ask(proxy, upload(2)).status == 200)
        #expect(try server.seen().map(\.why) == [""])
      }
    }
  }

  @Test func `an origin's answer in the middle of an upload reaches the app`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration(Self.s3, top: "limits: {replay_body: 16KiB}")) { proxy throws in
      let answer = #"[403, "application/xml", "<Error><Code>AccessDenied</Code></Error>", []]"#
      try server.set(#"{"cut": {"bytes": 70000, "answer": \#(answer)}}"#)
      let got = try ask(proxy, upload(64))
      #expect(got.status == 403 && got.text.contains("AccessDenied"), "\(got.head)")
      #expect(try server.seen().map(\.why) == ["cut"])
    }
  }

  @Test func `keys that are refused after the body has gone are not tried again, and Proxy-Status says so`() throws {
    let server = try AWSServer()
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("old-5ecret\n", to: folder + "/key")
    let keys = "service: s3, region: eu-central-1, access_key_id: AKIDEXAMPLE, secret_access_key: {file: \(folder)/key}"
    try withProxy(server.configuration(keys, top: "watch_files: 1h\nlimits: {replay_body: 16KiB}")) { proxy throws in
      try ProxyProcess.write("shh-5ecret-key\n", to: folder + "/key")
      try server.set(#"{"answers": [\#(Self.expired)]}"#)
      let answer = try ask(proxy, upload(4))
      #expect(answer.status == 403 && answer.text.contains("ExpiredToken"))
      #expect(answer.proxyDetails == "not retried, the request body was not kept", "\(answer.head)")
      #expect(try server.seen().count == 1)
      // The next one has the keys that were read meanwhile.
      #expect(try eventually { try ask(proxy, upload(4)).status == 200 })
    }
  }

  @Test func `an upload that was kept goes again, with the signatures of the newer keys`() throws {
    let server = try AWSServer()
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("old-5ecret\n", to: folder + "/key")
    let keys = "service: s3, region: eu-central-1, access_key_id: AKIDEXAMPLE, secret_access_key: {file: \(folder)/key}"
    try withProxy(server.configuration(keys, top: "watch_files: 1h\nlimits: {replay_body: 1MiB}")) { proxy throws in
      try ProxyProcess.write("shh-5ecret-key\n", to: folder + "/key")
      try server.set(#"{"answers": [\#(Self.expired)]}"#)
      #expect(try ask(proxy, upload(3)).status == 200)
      let seen = try server.seen()
      #expect(seen.count == 2 && seen[0].why.hasPrefix("signature") && seen[1].why == "", "\(seen.map(\.why))")
    }
  }
}
