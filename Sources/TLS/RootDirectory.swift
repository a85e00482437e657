import COpenSSL
import Crypto

/// Roots in DER by their names. A store parses one when a chain needs it: OpenSSL 3 takes half a millisecond for each, mostly for its key,
/// and of a bundle's 140 a process needs a few.
final class RootDirectory {
  /// By a hash of the subject. What does not parse once it is needed is no root.
  private var certificates: [UInt: [UInt8]] = [:]
  /// Those that share a hash, and what is no DER, which the store has from the beginning. A thread that meets the first of several with
  /// one name would otherwise judge without the others.
  private(set) var parsed: [Certificate] = []

  init(_ der: [[UInt8]]) throws(OpenSSLError) {
    var all: [UInt: [(index: Int, der: [UInt8])]] = [:]
    for (index, bytes) in der.enumerated() {
      if let hash = Self.withSubject(of: bytes, { Self.hash(of: $0) }) ?? nil {
        all[hash, default: []].append((index, bytes))
      } else {
        try parse(bytes, index)
      }
    }
    for (hash, those) in all {
      if those.count == 1 { certificates[hash] = those[0].der } else { for (index, der) in those { try parse(der, index) } }
    }
  }

  private func parse(_ der: [UInt8], _ index: Int) throws(OpenSSLError) {
    do throws(OpenSSLError) { parsed.append(try Certificate(der: der)) } catch {
      throw OpenSSLError(.encoding, "certificate \(index + 1): \(error.message)")
    }
  }

  /// nil: SHA-1 is not to be had.
  private static func hash(of name: OpaquePointer) -> UInt? {
    var isGood: Int32 = 0
    let hash = X509_NAME_hash_ex(name, nil, nil, &isGood)
    if isGood == 0 { ERR_clear_error() }
    return isGood == 1 ? hash : nil
  }

  /// The store asks here for what it does not have yet. It keeps the directory.
  func attach(to store: OpaquePointer) throws(OpenSSLError) {
    guard let method = Self.method, let lookup = X509_STORE_add_lookup(store, method) else {
      throw .drained(.configuration, "out of memory")
    }
    X509_LOOKUP_set_method_data(lookup, Unmanaged.passRetained(self).toOpaque())
  }

  /// - Returns: nil: no certificate in DER begins like this (RFC 5280, 4.1).
  private static func withSubject<Result>(of der: [UInt8], _ body: (OpaquePointer) -> Result) -> Result? {
    guard let name = subject(of: der) else {
      ERR_clear_error()
      return nil
    }
    defer { X509_NAME_free(name) }
    return body(name)
  }

  /// The caller frees it.
  private static func subject(of der: [UInt8]) -> OpaquePointer? {
    der.withUnsafeBufferPointer { buffer in
      guard var cursor = buffer.baseAddress else { return nil }
      let end = cursor + buffer.count
      /// The next element, of which `isEntered` leaves the content to be read; nil: there is none.
      func next(entering isEntered: Bool) -> Int32? {
        var (start, length, tag, kind): (UnsafePointer<UInt8>?, Int, Int32, Int32) = (cursor, 0, 0, 0)
        // Indefinite lengths (1) are no DER.
        guard ASN1_get_object(&start, &length, &tag, &kind, end - cursor) & 0x81 == 0, let start else { return nil }
        cursor = start + (isEntered ? 0 : length)
        return tag
      }
      // Certificate, TBSCertificate, version or serial number.
      guard next(entering: true) != nil, next(entering: true) != nil, let first = next(entering: false) else { return nil }
      let skipped = first == V_ASN1_INTEGER ? 3 : 4
      for _ in 0..<skipped where next(entering: false) == nil { return nil }
      var name: UnsafePointer<UInt8>? = cursor
      return d2i_X509_NAME(nil, &name, end - cursor)
    }
  }

  // SAFETY: it is made once and never changed.
  private nonisolated(unsafe) static let method: OpaquePointer? = {
    let method = X509_LOOKUP_meth_new("certificates that are not parsed yet")
    X509_LOOKUP_meth_set_get_by_subject(method) { lookup, type, name, result in
      guard type == X509_LU_X509, let lookup, let name, let data = X509_LOOKUP_get_method_data(lookup) else { return 0 }
      let directory = Unmanaged<RootDirectory>.fromOpaque(data).takeUnretainedValue()
      guard let store = X509_LOOKUP_get_store(lookup), directory.add(name, to: store) else { return 0 }
      return RootDirectory.find(name, in: store, result)
    }
    X509_LOOKUP_meth_set_free(method) { lookup in
      if let data = X509_LOOKUP_get_method_data(lookup) { Unmanaged<RootDirectory>.fromOpaque(data).release() }
    }
    return method
  }()

  /// - Returns: whether there is one.
  private func add(_ name: OpaquePointer, to store: OpaquePointer) -> Bool {
    guard let hash = Self.hash(of: name), let der = certificates[hash],
      // Names with an equal hash can be made, and parsing costs more than this.
      Self.withSubject(of: der, { X509_NAME_cmp($0, name) == 0 }) == true, let certificate = try? Certificate(der: der)
    else { return false }
    // Another thread may have been faster: the store leaves out what it has.
    return X509_STORE_add_cert(store, certificate.pointer) == 1
  }

  /// Lends the caller the store's own certificate, as OpenSSL's directories do (crypto/x509/by_dir.c): it takes a reference of its own.
  private static func find(_ name: OpaquePointer, in store: OpaquePointer, _ result: OpaquePointer?) -> Int32 {
    X509_STORE_lock(store)
    let found = X509_OBJECT_retrieve_by_subject(X509_STORE_get0_objects(store), X509_LU_X509, name)
    let certificate = found.flatMap { X509_OBJECT_get0_X509($0) }
    X509_STORE_unlock(store)
    guard let certificate, X509_OBJECT_set1_X509(result, certificate) == 1 else { return 0 }
    X509_free(certificate)
    return 1
  }
}
