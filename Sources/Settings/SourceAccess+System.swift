import Credentials
import Files

extension SourceAccess {
  /// This machine's files and programs.
  public static let system = SourceAccess(.system)

  public init(_ system: SystemAccess) {
    self.init { (path: String) throws(Problem) in
      do throws(FileError) {
        let content = try system.readFile(path, AWSProfiles.longestFile)
        return File(content: Secret(content.bytes), isOurs: content.isOurs)
      } catch { throw Problem("\(error)", isAbsence: error.isAbsence) }
    } run: { (program: Program) throws(Problem) in
      let helper = HelperProgram(
        arguments: program.arguments, environment: program.environment, timeout: program.timeout)
      do throws(SecretError) { return Secret(try system.run(helper)) } catch { throw Problem("\(error)") }
    }
  }
}
