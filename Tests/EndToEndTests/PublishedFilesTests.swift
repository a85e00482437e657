import Foundation
import Testing

/// The files of `intercept.publish` are whole at any time, whatever happens to the disk and to the system's roots.
@Suite struct PublishedFilesTests {
  private let folder: String
  private var published: String { folder + "/published" }
  private let names = ["bundle.pem", "ca.pem", "env.sh", "truststore.jks"]

  init() throws { folder = try Surroundings.newFolder() }

  private func contents() throws -> [Data] {
    try names.map { try Data(contentsOf: URL(fileURLWithPath: "\(published)/\($0)")) }
  }

  private func roots(_ names: String...) throws -> String {
    try names.map { try Authority.content("\(Surroundings.pki())/\($0).pem") }.joined()
  }

  @Test func `on a full disk all old files stay, the log says what to do, and the proxy serves`() throws {
    try Authority.replace(folder + "/roots.pem", with: roots("ca"))
    let text = try Intercepted.configuration(top: "intercept: {ca: memory, publish: \(published)}")
    // Files of at most 3 KiB: room for three certificates, not for six.
    let proxy = try ProxyProcess(
      text, environment: ["SSL_CERT_FILE": folder + "/roots.pem"],
      wrapper: ["bash", "-c", "trap '' XFSZ; ulimit -f 3; exec \"$@\"", "bash"])
    defer { proxy.stop() }
    let before = try contents()
    try Authority.replace(folder + "/roots.pem", with: roots("ca", "good", "wrong-host", "expired", "self-signed"))
    let line = try proxy.reload(expecting: "reload failed")
    #expect(line.contains("\(published): File too large") && line.contains("mend this"), "\(line)")
    #expect(try contents() == before)
    #expect(try Authority.names(published) == names)
    #expect(try proxy.inside(ProxyProcess.last("GET", "/echo"), root: published + "/ca.pem").statuses == [200])
    try Authority.replace(folder + "/roots.pem", with: roots("ca", "good"))
    try proxy.reload()
    #expect(try contents() != before)
  }

  @Test func `a reader never sees a part of a file while reloads replace them`() throws {
    func configuration(_ authorities: String...) throws -> String {
      try Intercepted.configuration(
        top: "intercept: {ca: [\(authorities.joined(separator: ", "))], publish: \(published)}")
    }
    for name in ["one", "two"] { try Authority.create("\(folder)/\(name)", for: "api.test") }
    let (one, two) = (Authority.item(folder + "/one"), Authority.item(folder + "/two"))
    let texts = [try configuration(one), try configuration(two, one)]
    try withProxy(texts[0]) { proxy throws in
      var whole = Set(try contents())
      try proxy.reload(texts[1])
      whole.formUnion(try contents())
      let paths = names.map { "\(published)/\($0)" }
      let (seen, isOver) = (Monitor<(Set<Data>, Int)>(([], 0)), Monitor(false))
      let readers = (0..<2).map { _ in
        Thread {
          while !isOver.change({ $0 }) {
            for path in paths {
              let data = (try? Data(contentsOf: URL(fileURLWithPath: path))) ?? Data()
              seen.change {
                $0.0.insert(data)
                $0.1 += 1
              }
            }
          }
        }
      }
      for reader in readers { reader.start() }
      for round in 0..<30 { try proxy.reload(texts[round % 2]) }
      isOver.change { $0 = true }
      let (contents, count) = seen.change { $0 }
      #expect(count > 100)
      #expect(contents.isSubset(of: whole), "\(contents.subtracting(whole).map(\.count))")
    }
  }

  @Test func `roots of the system that go are an error of the reload, and apps keep them`() throws {
    let own = folder + "/roots.pem"
    try Authority.replace(own, with: roots("ca"))
    let text = try Intercepted.configuration(top: "intercept: {ca: memory, publish: \(published)}")
    try withProxy(text, environment: ["SSL_CERT_FILE": own]) { proxy throws in
      let before = try contents()
      try FileManager.default.removeItem(atPath: own)
      let line = try proxy.reload(expecting: "reload failed")
      #expect(line.contains(own) && line.contains("intercept.publish"), "\(line)")
      try "no certificate".write(toFile: own, atomically: true, encoding: .utf8)
      try proxy.reload(expecting: "reload failed")
      #expect(try contents() == before)
      #expect(try proxy.inside(ProxyProcess.last("GET", "/echo"), root: published + "/ca.pem").statuses == [200])
    }
  }
}
