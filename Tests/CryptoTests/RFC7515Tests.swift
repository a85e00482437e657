import Crypto
import Testing

/// RFC 7515 appendix A: the examples of JWS, with the keys of their JWKs in PKCS #8. A.1, an HMAC, is in `SignatureTests`.
@Suite struct RFC7515Tests {
  /// Header and payload of A.2 and A.3 differ in the algorithm.
  private static let payload =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

  @Test func `a signature with RSA is that of appendix A-2, byte for byte`() throws {
    let key = try PrivateKey(pem: Array(Self.a2Key.utf8))
    let message = Array("eyJhbGciOiJSUzI1NiJ9.\(Self.payload)".utf8)
    #expect(String(decoding: Base64.encodeURL(try key.sign(message, as: .rs256)), as: UTF8.self) == Self.a2Signature)
    #expect(key.verify(try #require(Base64.decodeURL(Self.a2Signature.utf8)), of: message, as: .rs256))
  }

  @Test func `the signature with P-256 of appendix A-3 is verified, and ours has its form`() throws {
    let key = try PrivateKey(pem: Array(Self.a3Key.utf8))
    #expect(key.jwsAlgorithms == [.es256])
    let message = Array("eyJhbGciOiJFUzI1NiJ9.\(Self.payload)".utf8)
    let signature = try #require(
      Base64.decodeURL("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q".utf8))
    #expect(key.verify(signature, of: message, as: .es256))
    #expect(!key.verify(signature, of: message + [0], as: .es256))
    // r and s, not DER.
    let own = try key.sign(message, as: .es256)
    #expect(own.count == 64 && key.verify(own, of: message, as: .es256))
  }

  @Test func `the key of appendix A-4, on P-521, signs by no algorithm that the proxy has`() throws {
    let key = try PrivateKey(pem: Array(Self.a4Key.utf8))
    #expect(key.jwsAlgorithms == [])
    for algorithm in PrivateKey.JWSAlgorithm.allCases {
      #expect(throws: OpenSSLError.self) { try key.sign(Array("eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA".utf8), as: algorithm) }
    }
  }

  private static let a2Signature =
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZ"
    + "cAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-e"
    + "OkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"

  private static let a2Key = """
    -----BEGIN PRIVATE KEY-----
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCh+BYK4uPJtGXO
    jS1lYmM2K5J9vinh8CR3/BYlzJChNuOL2TSXxbbqY913EeZ8dCn5VrD7io8ImtxL
    aYk8wTM/U+3QGbh3hCUv7JFP5IV3aVlL6kKA0ywPVb9ilE8TA5a8bpvfbr3SvaNn
    juygxmj3AbONv/s4yDQs4v5tJ/reSlpIdJed1LnPmt7Ex1sFhSwsD174pcF1A5L5
    ROjtZMEQxrZHYJqkeDrrnGya11UxMFBji4NmXG9veoKjlnAqH2QbgtPr8jkiGUkf
    toaHLFcW9Qr4NY2ai50Xw0Byj3+H2JoY2PyrZ62EWQwuz3WTOTY8BwNNb2BvniHg
    VFbK5emhAgMBAAECggEAEq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyW
    PEAeP88vLNO97IjlA7/GQ5sLKMgvfTeXZx9SE+7YwVol2NXOoAJe46sui395IW/G
    O+pWJ1O0BkTGoVEn2bKVRUCgu+GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzj
    kn439X0M/V51gfpRLI9JYanrC4D4qAdGcopV/0ZHHzQlBjudU2QvXt4ehNYTCBr6
    XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl/x/jTj3ccPDVZFD9pIuhLhBOneufuBiB
    4cS98l2SR/RQyGWSeWjnczT0QU91p1DhOVRuOopznQKBgQDgHMQQ60imZV1URk0K
    pLttoLhyt3SmqdEf/kgHePDdtzEafpAu+cS191R2JiuoF2yzWXnwFDcqGigp5BNr
    0AHQfD8/Lk8l1Mk09jxxCfui5nYooNyac8YFjm3vItzVCVDnEd3BbVWG8qf6deqE
    lMGAg+C2V0L4oNXnP7LZcPAZRwKBgQC5A8R+CZW2MvRTLLHzwZkUXV866cff7tx6
    kqa0finGG0KgeqlaZPxgCZnFp7AeAcCMtiynVlJ7vMVgePsLq6XtON4tB5kP9jAP
    rq3rbAOal78eUH5OcED6eNuCV8ixEu1eWcPNCS/l1OW1EnXUEoEHKl54Xrrz2uNw
    kgMTP1FZ1wKBgAcCn1dwJKufzBWQxWQp1vsM5fggqPN1qGb5y0MAk3g7/Ls5bkUp
    5u9SN0Ai3Ya6hNnvWJMb7sXQX6U/zyO2M/hTip7tUeh7CXgwo59dkpN75gJLVds2
    9+DAncu3KXU4f2Fa+7bLNrur53k8KwPOq2bbuTG69QtV7Jr5MR0AHWKNAoGBAIf/
    evpitUf+4JYbLpvNXWcY052Mpz22aR84mY3nh3F2LF2mjMJDpTg7FmuyPcVw6EcG
    yoAe9fa65iNqCq+jdw6PVNGo2hxfjSiZ8IIzHdsPXI89//pMjZcQK9r+CCoRjaZj
    OYiIDktVWZzmevJuv6WywUqd57LE3Zar3dLSIkx1AoGAIYd7DHOhrWvxkwPQsRM2
    tOgrjbcrfvtQJipd+DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd/QJQ3
    ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp/gh6A56
    03k2+ZQwVK0JKSHuLFkuQ3U=
    -----END PRIVATE KEY-----
    """

  private static let a3Key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIff
    H1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp
    7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt
    -----END PRIVATE KEY-----
    """

  private static let a4Key = """
    -----BEGIN PRIVATE KEY-----
    MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIBjmlvsDRQWIHdEQtI
    Prh9Ms5JX+NrN0Xt8tjK5PDyU59GFaDpjqtSs8DF6sTOB1GFqOe7R96sHR3ne8z2
    YTXmPYKhgYkDgYYABAHpKQUPEk/GvFXH1TkzZd+d70qwwiyyV5j5NOsE48a643Aa
    V6eRDp2BvzYxWejryxVdY0n0vbbM+KlMXFnHqsEBpAA0pkQON2dQ0jcf0b3CyPO3
    HS9O5eo0MsgVzKMVYP5dk4fsd0tVg4Yw5cu/Woy+CpHdAGTGmZofbm5n+t3t5MjI
    9g==
    -----END PRIVATE KEY-----
    """
}
