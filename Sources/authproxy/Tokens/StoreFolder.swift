import ConfigurationFile
import Credentials

enum StoreFolder {
  /// As root: becomes the owner of the token store's folder. Then no link of his leads root anywhere, no helper program runs as
  /// root, and the proxy can use the files. A configuration with errors is reported by whoever reads it next.
  static func becomeOwner(config: String) throws {
    guard let path = ConfigurationFile.tokenStorePath(path: config, environment: Environment.current) else { return }
    do throws(TokenStoreFailure) { _ = try FileTokenStore.becomeFolderOwner(of: path) } catch {
      Terminal.error("authproxy: \(error)")
      throw ExitStatus.cannotBind
    }
  }
}
