/// What a `ByteStream` moves bytes through instead of a socket: one of the streams that a connection carries. Belongs to one loop.
///
/// A subclass says what a socket would say. Its owner calls the stream's user when the stream becomes ready again: there is no
/// descriptor, and no event.
open class StreamLayer {
  public init() {}

  /// - Parameter space: not empty.
  open func read(into space: UnsafeMutableRawBufferPointer) -> ByteStream.Read { .failed }
  /// What has come and is read as it is, where it lies: until the next call of this layer. Empty: `read` says what there is.
  open var arrived: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }
  /// Takes bytes off the front of `arrived`.
  open func consume(_ count: Int) {}
  open func write(_ bytes: UnsafeRawBufferPointer) -> ByteStream.Write { .failed }
  /// State after an exchange.
  open var remainder: ByteStream.Remainder { .end }
  /// The user is done with the stream, or gives it up.
  open func close() {}
}
