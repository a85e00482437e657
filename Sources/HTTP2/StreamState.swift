/// One stream of a session. The session keeps it for later streams when it is released.
final class StreamState {
  let index: UInt32
  /// 0: released.
  private(set) var id: Int32 = 0
  var section = HeaderSection()
  var body = IncomingBody()
  var sending = OutgoingMessage()
  /// The request's method is HEAD.
  var isHeadRequest = false
  /// Server: what the app wants never indexed.
  var marked: IndexedNames = []

  /// The last event was announced.
  var isOver = false
  /// Of the peer's RST_STREAM.
  var resetCode: ErrorCode?
  /// Why we reset it.
  var ownEnd: StreamEnd?
  /// We have reset it.
  var isAbandoned = false
  /// nghttp2 has closed the stream.
  var isClosed = false

  init(index: UInt32) { self.index = index }

  var ticket: StreamTicket { StreamTicket(index: index, id: id) }

  func begin(id: Int32) { self.id = id }

  func clear() {
    id = 0
    section.clear()
    body.clear()
    sending.clear()
    isHeadRequest = false
    marked = []
    isOver = false
    resetCode = nil
    ownEnd = nil
    isAbandoned = false
    isClosed = false
  }
}
