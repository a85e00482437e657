import Credentials
import Fetch

extension TokenFailure {
  init(_ failure: HTTPFetch.Failure) {
    self =
      switch failure {
      case .timedOut: .timedOut
      case .tooLate: .store("the claim came too late to use it")
      case .unreachable(let why): .unreachable(LogText.bounded(why))
      case .untrusted(let refusal): .notTrusted(LogText.bounded("\(refusal.evaluator): \(refusal.detail)"))
      case .addressForbidden: .unreachable("its address is forbidden")
      case .tooLarge: .tooLarge
      case .malformed(let why): .malformed(LogText.bounded(why))
      }
  }
}
