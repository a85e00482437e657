import Crypto
import Files
import Foundation
import TLS
import Testing

@testable import Interception

@Suite struct AuthoritySupplyTests {
  private func names(_ texts: [String]) -> [SignedName] {
    texts.map { $0.hasPrefix("*.") ? SignedName(host: String($0.dropFirst(2)), isWildcard: true) : SignedName(host: $0) }
  }

  @Test func `one authority is made for all names that nobody permits, and the old ones go on`() throws {
    let first = try AuthoritySupply.complete(
      SigningCAs([]), for: names(["a.example", "*.b.example", "10.0.0.1"]), in: nil, now: now)
    #expect(first.list.count == 1)
    for name in names(["a.example", "*.b.example", "10.0.0.1"]) { #expect(first.signer(for: name, at: now) == first.list[0]) }
    #expect(first.signer(for: names(["c.example"])[0], at: now) == nil)
    let same = try AuthoritySupply.complete(first, for: names(["a.example", "x.b.example"]), in: nil, now: now)
    #expect(same == first)
    let second = try AuthoritySupply.complete(first, for: names(["a.example", "c.example"]), in: nil, now: now)
    #expect(second.list.count == 2 && second.list[0] == first.list[0])
    #expect(second.signer(for: names(["c.example"])[0], at: now) == second.list[1])
    #expect(second.list[1].permits(PeerName("a.example")) == false)
  }

  @Test func `one that has expired is replaced`() throws {
    let old = SigningCAs([try authority(for: ["a.example"], days: 1).signing])
    let later = now + 2 * 86_400
    let both = try AuthoritySupply.complete(old, for: names(["a.example"]), in: nil, now: later)
    #expect(both.list.count == 2)
    #expect(both.signer(for: names(["a.example"])[0], at: later) == both.list[1])
  }

  @Test func `names that belong together have one authority`() throws {
    let apart = SigningCAs([try authority(for: ["a.example"]).signing, try authority(for: ["b.example"]).signing])
    let group = hosts(["a.example", "b.example"])
    let all = try AuthoritySupply.complete(apart, for: names(["a.example", "b.example"]), together: [group], in: nil, now: now)
    #expect(all.list.count == 3)
    #expect(all.signer(forAll: group, at: now) == all.list[2])
  }

  @Test func `a folder keeps what was made, under the next number`() throws {
    try withFolder { path in
      let folder = path + "/sub/ca"
      let first = try AuthoritySupply.complete(SigningCAs([]), for: names(["a.example"]), in: folder, now: now)
      let second = try AuthoritySupply.complete(first, for: names(["b.example"]), in: folder, now: now)
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == [
          "ca-2.pem", "ca.pem", "issuer-2.key", "issuer-2.pem", "issuer.key", "issuer.pem",
        ])
      for (number, authority) in zip(1..., second.list) {
        let files = AuthorityFiles(number: number)
        let chain = try Certificate.parse(pem: FileReading.read("\(folder)/\(files.certificates)", limit: 1 << 20).bytes)
        #expect(chain == authority.chain)
        #expect(
          try Certificate.parse(pem: FileReading.read("\(folder)/\(files.root)", limit: 1 << 20).bytes) == [authority.root])
        let key = try FileReading.read("\(folder)/\(files.key)", limit: 1 << 20)
        #expect(key.permissions == 0o600)
        #expect(try SigningCA(chain: chain, key: PrivateKey(pem: key.bytes), now: now) == authority)
      }
      // Half of an authority is not completed, and not overwritten.
      try FileManager.default.removeItem(atPath: "\(folder)/issuer-2.pem")
      _ = try AuthoritySupply.complete(first, for: names(["b.example"]), in: folder, now: now)
      #expect(FileManager.default.fileExists(atPath: "\(folder)/issuer-3.pem"))
    }
  }

  @Test func `a folder that cannot be made is an error`() {
    #expect(throws: AuthoritySupply.Failure.self) {
      try AuthoritySupply.complete(SigningCAs([]), for: names(["a.example"]), in: "/proc/none", now: now)
    }
  }
}
