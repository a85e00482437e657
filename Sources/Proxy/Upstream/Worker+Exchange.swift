import EventIO
import Trust

extension Worker {
  /// Makes the exchange that `request` describes; `done` gets the body of a 200 within the limits, nil otherwise.
  func exchange(_ request: FetchRequest, done: @escaping ([UInt8]?) -> Void) {
    done(nil)
  }
}
