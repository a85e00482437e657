/// Changes a request's body on its way to the origin, without changing its length: a transfer in which each chunk is signed again. One
/// for each attempt. It sees the body without the framing of the transfer.
open class BodyTransform {
  public init() {}

  /// Takes the next piece and appends what can go on. What it keeps back is bounded.
  /// - Parameter isLast: no piece follows.
  /// - Throws: the body is not what the request's head says; the request ends, and the origin must not take it for whole.
  open func take(
    _ piece: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8]
  ) throws(BodyTransformError) { output.append(contentsOf: piece) }

  /// Bytes of memory for what it keeps back.
  open var held: Int { 0 }
}

/// Why a body cannot go on.
public enum BodyTransformError: Error, Sendable, Hashable {
  case malformed(String)
  /// A part that must be kept whole exceeds what is kept.
  case tooLarge(String)
}
