import EventIO
import HTTPWire

extension Block {
  /// Takes a piece out of what it is filled with.
  /// - Parameter piece: offsets from the first byte.
  func remove(_ piece: ByteSlice) {
    let rest = count - piece.end
    (base + start + piece.start).copyMemory(from: base + start + piece.end, byteCount: rest)
    end -= piece.count
  }
}
