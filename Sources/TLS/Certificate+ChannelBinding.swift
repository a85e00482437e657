import COpenSSL

extension Certificate {
  /// What `tls-server-end-point` binds a channel to (RFC 5929 section 4.1): the certificate's hash, by the hash function of its
  /// signature, but SHA-256 instead of MD5 and SHA-1. nil: the signature has no such function (Ed25519), and none is defined.
  public var endPointHash: [UInt8]? {
    var digest = NID_undef
    // For RSA-PSS, its parameters tell.
    guard X509_get_signature_info(pointer, &digest, nil, nil, nil) == 1 else { return nil }
    let function: OpaquePointer?
    switch digest {
    case NID_undef: return nil
    case NID_md5, NID_sha1, NID_md5_sha1: function = EVP_sha256()
    default: function = EVP_get_digestbyname(OBJ_nid2sn(digest))
    }
    guard let function else { return nil }
    var count: UInt32 = 0
    let hash = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, filled in
      filled = X509_digest(pointer, function, buffer.baseAddress, &count) == 1 ? Int(count) : 0
    }
    return hash.isEmpty ? nil : hash
  }
}

extension TLSConnection {
  /// On a client: the application data that binds a security context to this connection (RFC 5929 section 4); nil: its
  /// certificate has no hash for it. After a resumption, too.
  public var endPointBinding: [UInt8]? {
    guard let certificate = SSL_get1_peer_certificate(pointer).map({ Certificate(owning: $0) }),
      let hash = certificate.endPointHash
    else { return nil }
    return Array("tls-server-end-point:".utf8) + hash
  }
}
