import Crypto
import Files
import TLS

/// The files of one authority in a folder, where further ones may be: the first is `issuer.pem`, the second `issuer-2.pem`.
public struct AuthorityFiles: Sendable, Hashable {
  /// From 1.
  public let number: Int

  public init(number: Int) { self.number = number }

  /// The issuer, then the root.
  public var certificates: String { name("issuer", "pem") }
  /// Of the issuer.
  public var key: String { name("issuer", "key") }
  /// The root alone, for apps.
  public var root: String { name("ca", "pem") }

  private func name(_ stem: String, _ ending: String) -> String {
    number == 1 ? "\(stem).\(ending)" : "\(stem)-\(number).\(ending)"
  }

  func isBegun(in folder: Folder) -> Bool { [certificates, key, root].contains { folder.has($0) } }

  /// Writes an authority; overwrites nothing. The key's file is closed to others before a byte is in it. Blocks.
  /// - Throws: with code EEXIST and the file's name where one of them is there.
  public func write(_ authority: LocalAuthority, to folder: Folder) throws(WriteError) {
    let key: [UInt8]
    do throws(OpenSSLError) { key = try authority.key.pem() } catch {
      throw WriteError(file: self.key, problem: FileError(error.message))
    }
    for name in [certificates, self.key, root] where folder.has(name) { throw WriteError(file: name, problem: .exists) }
    // What names the key is last: a CA without its key is seen to be unfinished.
    for (name, bytes, mode) in [
      (self.key, key, 0o600), (root, authority.root.pem, 0o644),
      (certificates, authority.issuer.pem + authority.root.pem, 0o644),
    ] as [(String, [UInt8], UInt32)] {
      do throws(FileError) { try folder.create(name, bytes, mode: mode) } catch {
        throw WriteError(file: name, problem: error)
      }
    }
  }

  public struct WriteError: Error, Sendable, Hashable, CustomStringConvertible {
    public let file: String
    public let problem: FileError
    public var description: String { "\(file): \(problem)" }
  }
}
