import ConfigurationFile
import Settings

/// Reads the configuration for every command in the same way, so that `check` reports what `run` does. Blocks on files and
/// helper programs.
func loadConfiguration(_ path: String) -> LoadedConfiguration {
  ConfigurationFile.load(path: path, environment: Environment.current)
}
