import COpenSSL

/// A growing buffer for OpenSSL functions that only print.
package final class MemoryBIO {
  package let pointer: OpaquePointer

  package init?() {
    guard let pointer = BIO_new(BIO_s_mem()) else { return nil }
    self.pointer = pointer
  }

  /// A copy of `bytes` to read from.
  package convenience init?(_ bytes: [UInt8]) {
    self.init()
    guard bytes.isEmpty || BIO_write(pointer, bytes, Int32(clamping: bytes.count)) == Int32(clamping: bytes.count) else {
      return nil
    }
  }

  deinit { BIO_free(pointer) }

  package func takeBytes() -> [UInt8] {
    let count = BIO_ctrl_pending(pointer)
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = count == 0 ? 0 : max(0, Int(BIO_read(pointer, buffer.baseAddress, Int32(clamping: count))))
    }
  }
}
