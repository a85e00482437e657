import ConfigurationFile
import Settings

/// The configuration as every command reads it, so that `check` promises what `run` does: certificates, keys and CRLs are looked at
/// with OpenSSL. Blocks on files and helper programs.
func loadConfiguration(_ path: String) -> LoadedConfiguration {
  ConfigurationFile.load(path: path, environment: Environment.current)
}
