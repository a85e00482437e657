import Crypto
import Files
import Foundation
import Synchronization
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

  /// What a process that starts now reads from the folder.
  private func read(_ path: String) throws -> SigningCAs {
    let folder = try Folder(path)
    return try SigningCAs(AuthorityFiles.all(among: folder.content().names).compactMap { $0.read(in: folder, now: now) })
  }

  @Test func `behind a gap the next one has the last number`() throws {
    try withFolder { path in
      try AuthorityFiles(number: 3).write(authority(for: ["a.example"]).made, to: Folder(path))
      let known = try read(path)
      #expect(known.list.count == 1)
      let more = try AuthoritySupply.complete(known, for: names(["b.example"]), in: path, now: now)
      #expect(FileManager.default.fileExists(atPath: "\(path)/issuer-4.pem"))
      #expect(try read(path) == more)
    }
  }

  @Test func `what another process made meanwhile is taken, where it fits`() throws {
    try withFolder { path in
      let first = try AuthoritySupply.complete(SigningCAs([]), for: names(["a.example"]), in: path, now: now)
      #expect(try AuthoritySupply.complete(SigningCAs([]), for: names(["a.example"]), in: path, now: now) == first)
      let second = try AuthoritySupply.complete(SigningCAs([]), for: names(["a.example", "b.example"]), in: path, now: now)
      #expect(second.list.count == 2 && second.list[0] == first.list[0])
      // A key that others can read is not taken.
      chmod("\(path)/issuer.key", 0o644)
      chmod("\(path)/issuer-2.key", 0o644)
      let third = try AuthoritySupply.complete(SigningCAs([]), for: names(["a.example"]), in: path, now: now)
      #expect(third.list.count == 1 && !second.list.contains(third.list[0]))
    }
  }

  /// Another user may come between a look at the folder and the reading.
  @Test func `what is put in the place of a CA at the last moment is not taken`() throws {
    let changes: [(String, (String) throws -> Void)] = [
      (
        "a link",
        { file in
          try FileManager.default.moveItem(atPath: file, toPath: file + ".moved")
          try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: file + ".moved")
        }
      ),
      ("another user's file", { file in #expect(geteuid() != 0 || chown(file, 65_534, 65_534) == 0) }),
    ]
    for name in ["issuer.pem", "issuer.key"] {
      for (kind, change) in changes where geteuid() == 0 || kind == "a link" {
        try withFolder { path in
          let files = AuthorityFiles(number: 1)
          try files.write(authority(for: ["a.example"]).made, to: Folder(path))
          chmod(path, 0o777)
          let folder = try Folder(path)
          #expect(files.read(in: folder, now: now) != nil)
          try change("\(path)/\(name)")
          #expect(files.read(in: folder, now: now) == nil, "\(kind), \(name)")
        }
      }
    }
  }

  @Test func `the files are those of the folder that is open, not of what has its path by now`() throws {
    try withFolder { path in
      let files = AuthorityFiles(number: 1)
      for name in ["one", "two"] {
        try files.write(authority(for: ["a.example"]).made, to: Folder("\(path)/\(name)", makes: true))
      }
      let folder = try Folder(path + "/one")
      let before = try #require(files.read(in: folder, now: now))
      try FileManager.default.moveItem(atPath: path + "/one", toPath: path + "/moved")
      try FileManager.default.moveItem(atPath: path + "/two", toPath: path + "/one")
      #expect(files.read(in: folder, now: now) == before)
    }
  }

  @Test func `many at once in one folder make one`() throws {
    try withFolder { path in
      let all = Mutex<[SigningCAs?]>([])
      DispatchQueue.concurrentPerform(iterations: 8) { _ in
        let made = try? AuthoritySupply.complete(SigningCAs([]), for: [SignedName(host: "a.example")], in: path, now: now)
        all.withLock { $0.append(made) }
      }
      let made = all.withLock { $0 }
      #expect(made.count == 8 && Set(made).count == 1 && made[0] != nil)
    }
  }

  @Test func `a CA in use does not go because a file went`() throws {
    try withFolder { path in
      let one = try AuthoritySupply.complete(SigningCAs([]), for: names(["a.example"]), in: path, now: now)
      let used = try AuthoritySupply.complete(one, for: names(["b.example"]), in: path, now: now)
      func check(_ hosts: [String]) -> String? {
        do {
          try AuthoritySupply.checkLoss(of: used, after: read(path), for: names(hosts), in: path, now: now)
          return nil
        } catch { return "\(error)" }
      }
      #expect(check(["a.example", "b.example"]) == nil)
      let files = FileManager.default
      try files.moveItem(atPath: "\(path)/issuer.pem", toPath: "\(path)/kept")
      for rest in ["ca.pem", "issuer.key"] {
        #expect(check(["b.example"])?.contains("\(path)/issuer.pem is gone") == true, "\(rest)")
        try files.removeItem(atPath: "\(path)/\(rest)")
      }
      // Gone whole: as an operator removes it, if others sign.
      #expect(check(["b.example"]) == nil)
      #expect(check(["a.example", "b.example"])?.contains("which signs for a.example, are gone") == true)
    }
  }

  @Test(
    arguments: [
      ([], [], 1), (["issuer.pem", "proxy.conf", "ca.key", "issuer.pem.new", "issuer2.pem"], [1], 2),
      (["ca.pem", "issuer-2.key", "issuer-7.pem", "issuer-07.pem", "issuer-1.pem"], [1, 2, 7], 8),
      (["issuer-0.key", "issuer--3.pem"], [], 1),
      (["issuer-99999999999999999999.pem", "issuer-1000000.key", "issuer-+4.pem", "ca-10.pem"], [10], 11),
      (["issuer-999999.pem"], [999_999], nil),
    ] as [([String], [Int], Int?)])
  func `numbers of the files in a folder`(_ names: [String], _ numbers: [Int], _ next: Int?) {
    let all = AuthorityFiles.all(among: Set(names))
    #expect(all.map(\.number) == numbers)
    #expect(AuthorityFiles.next(after: all)?.number == next)
  }

  @Test func `a folder that cannot be made is an error`() {
    #expect(throws: AuthoritySupply.Failure.self) {
      try AuthoritySupply.complete(SigningCAs([]), for: names(["a.example"]), in: "/proc/none", now: now)
    }
  }
}
