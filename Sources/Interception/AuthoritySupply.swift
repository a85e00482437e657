import Crypto
import Files
import TLS

/// Makes what `ca: {generate: ...}` and `ca: memory` lack.
public enum AuthoritySupply {
  public enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
    case making(OpenSSLError)
    case folder(String, FileError)
    case file(String, AuthorityFiles.WriteError)
    case unfit(SigningCAError)

    public var description: String {
      switch self {
      case .making(let error): "no CA can be made: \(error)"
      case .folder(let path, let error): "\(path): \(error)"
      case .file(let path, let error): "\(path)/\(error)"
      case .unfit(let error): "the new CA \(error)"
      }
    }
  }

  /// The authorities that are there; and one more at the end, if none of these permits a name. The old ones go on to sign for theirs.
  /// Blocks.
  /// - Parameters:
  ///   - groups: names that one authority must permit together.
  ///   - path: the folder that keeps the new one, under the first number that is free; nil: it is in memory alone.
  ///   - now: seconds since 1970.
  public static func complete(
    _ authorities: SigningCAs, for names: [SignedName], together groups: [[PeerName]] = [], in path: String?, now: Int64
  ) throws(Failure) -> SigningCAs {
    var hosts = names.filter { authorities.signer(for: $0, at: now) == nil }.map(\.host)
    for group in groups where authorities.signer(forAll: group, at: now) == nil { hosts += group }
    var seen: Set<PeerName> = []
    hosts = hosts.filter { seen.insert($0).inserted }
    guard !hosts.isEmpty else { return authorities }
    let made: LocalAuthority
    do throws(OpenSSLError) { made = try LocalAuthority.create(for: hosts, now: now) } catch { throw .making(error) }
    if let path { try write(made, to: path) }
    do throws(SigningCAError) { return SigningCAs(authorities.list + [try SigningCA(made, now: now)]) } catch {
      throw .unfit(error)
    }
  }

  private static func write(_ made: LocalAuthority, to path: String) throws(Failure) {
    let folder: Folder
    do throws(FileError) { folder = try Folder(path, makes: true) } catch { throw .folder(path, error) }
    var number = 1
    while AuthorityFiles(number: number).isBegun(in: folder) { number += 1 }
    do throws(AuthorityFiles.WriteError) { try AuthorityFiles(number: number).write(made, to: folder) } catch {
      throw .file(path, error)
    }
  }
}
