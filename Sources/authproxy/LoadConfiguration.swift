import ConfigurationFile
import Settings

/// The configuration as every command reads it, so that `check` promises what `run` does. Blocks on files and helper programs.
func loadConfiguration(_ path: String) -> LoadedConfiguration {
  ConfigurationFile.load(path: path, environment: Environment.current)
}
