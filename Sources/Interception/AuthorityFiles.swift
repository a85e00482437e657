import Crypto
import Files
import TLS

/// The files of one authority in a folder, where further ones may be: the first is `issuer.pem`, the second `issuer-2.pem`.
public struct AuthorityFiles: Sendable, Hashable {
  /// From 1.
  public let number: Int

  public init(number: Int) { self.number = number }

  /// The issuer, then the root.
  public var certificates: String { Self.name("issuer", number, "pem") }
  /// Of the issuer.
  public var key: String { Self.name("issuer", number, "key") }
  /// The root alone, for apps.
  public var root: String { Self.name("ca", number, "pem") }

  private static func name(_ stem: String, _ number: Int, _ ending: String) -> String {
    number == 1 ? "\(stem).\(ending)" : "\(stem)-\(number).\(ending)"
  }

  /// Whoever writes the folder could make numbers of any size.
  private static let highest = 999_999

  /// The authorities of which a file is among these names, in the order of their numbers.
  public static func all(among names: Set<String>) -> [AuthorityFiles] {
    var numbers: Set<Int> = []
    for name in names {
      for (stem, ending) in [("issuer", "pem"), ("issuer", "key"), ("ca", "pem")]
      where name.hasPrefix(stem) && name.hasSuffix(".\(ending)") {
        let middle = name.dropFirst(stem.count).dropLast(ending.count + 1)
        let number = middle.isEmpty ? 1 : Int(middle.dropFirst()) ?? 0
        // Compared whole, as there is one form of each number.
        if (1...highest).contains(number), Self.name(stem, number, ending) == name { numbers.insert(number) }
      }
    }
    return numbers.sorted().map { AuthorityFiles(number: $0) }
  }

  /// For another authority behind these; a gap stays one, as the first that permits a host signs for it.
  public static func next(after all: [AuthorityFiles]) -> AuthorityFiles? {
    let number = (all.last?.number ?? 0) + 1
    return number <= highest ? AuthorityFiles(number: number) : nil
  }

  /// Writes an authority; overwrites nothing. The key's file is closed to others before a byte is in it. An error leaves no file
  /// behind. Blocks.
  /// - Throws: with code EEXIST and the file's name where one of them is there.
  public func write(_ authority: LocalAuthority, to folder: Folder) throws(WriteError) {
    let key: [UInt8]
    do throws(OpenSSLError) { key = try authority.key.pem() } catch {
      throw WriteError(file: self.key, problem: FileError(error.message))
    }
    for name in [certificates, self.key, root] where folder.has(name) { throw WriteError(file: name, problem: .exists) }
    var written: [String] = []
    // What names the key is last: a CA without its key is seen to be unfinished.
    for (name, bytes, mode) in [
      (self.key, key, 0o600), (root, authority.root.pem, 0o644),
      (certificates, authority.issuer.pem + authority.root.pem, 0o644),
    ] as [(String, [UInt8], UInt32)] {
      do throws(FileError) { try folder.create(name, bytes, mode: mode) } catch {
        for name in written { folder.remove(name) }
        throw WriteError(file: name, problem: error)
      }
      written.append(name)
    }
  }

  public struct WriteError: Error, Sendable, Hashable, CustomStringConvertible {
    public let file: String
    public let problem: FileError
    public var description: String { "\(file): \(problem)" }
  }

  /// The authority that the files hold; nil where they do not hold a whole one that is good now. Blocks.
  /// - Parameter now: seconds since 1970.
  func read(in folder: Folder, now: Int64) -> SigningCA? {
    guard let certificates = try? Self.content(certificates, folder), !certificates.isForeign,
      let chain = try? Certificate.parse(pem: certificates.bytes),
      let file = try? Self.content(key, folder), !file.isForeign, file.permissions & 0o007 == 0,
      let key = try? PrivateKey(pem: file.bytes)
    else { return nil }
    return try? SigningCA(chain: chain, key: key, now: now)
  }

  /// Whether these are files of the authority, though its certificates are not among them. Blocks.
  func isRest(of authority: SigningCA, in folder: Folder) -> Bool {
    guard !folder.has(certificates) else { return false }
    if let root = try? Certificate.parse(pem: Self.content(self.root, folder).bytes) { return root == [authority.root] }
    guard let key = try? PrivateKey(pem: Self.content(key, folder).bytes) else { return false }
    return key.publicKeyInfo == authority.key.publicKeyInfo
  }

  private static func content(_ name: String, _ folder: Folder) throws(FileError) -> FileContent {
    try folder.read(name, limit: 1 << 20)
  }
}
