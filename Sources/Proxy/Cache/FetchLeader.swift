/// The request that begins a fetch, as long as nobody has joined it.
protocol FlightLeader: AnyObject {
  /// Others join.
  func openFetch() -> SharedFetch?
}

/// The request that begins a fetch, as the fetch knows it.
class FetchLeader {
  /// Bytes of the body that it has passed; nil: it does not read.
  var position: Int? { nil }
  /// More of the body is there, or its end.
  func readAgain() {}
  /// The same at the loop's next turn.
  func readLater() {}
  /// It holds up others.
  func tooSlow() {}
  /// Its app has left, and so has everybody else.
  func endFetching() {}
}
