/// A throw-away P-256 key, also encrypted; a self-signed certificate with an empty CRL; and another certificate.
enum PEMSamples {
  static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBnDCCAUGgAwIBAgIUGXUB0Tjj/COpGQS9iIrnjYbiWRowCgYIKoZIzj0EAwIw
    FjEUMBIGA1UEAwwLb3JpZ2luLnRlc3QwIBcNMjYxMTIxMTAyMDE4WhgPMjEyNjEw
    MjgxMDIwMThaMBYxFDASBgNVBAMMC29yaWdpbi50ZXN0MFkwEwYHKoZIzj0CAQYI
    KoZIzj0DAQcDQgAEa77e9C6jnz9PYW0ONvfQ778i2IYnyq0yKAIkFbbeYq3nw+fq
    q805bTytLPoD3sLr2E2jx7DhA7DDxjpTNFVukqNrMGkwHQYDVR0OBBYEFOiwzOwV
    4v+GGGI6s3Xva61D3XbLMB8GA1UdIwQYMBaAFOiwzOwV4v+GGGI6s3Xva61D3XbL
    MA8GA1UdEwEB/wQFMAMBAf8wFgYDVR0RBA8wDYILb3JpZ2luLnRlc3QwCgYIKoZI
    zj0EAwIDSQAwRgIhAIe/o6Q7l7Wm7wUs2U7t5RNd8D2VCJlMMQnwFHjaQu8uAiEA
    2ZYI+dvq1zgr8a7pN+dvqotSBWJ/WiyIOE44wLCaRU8=
    -----END CERTIFICATE-----
    """
  static let next = """
    -----BEGIN CERTIFICATE-----
    MIIBgDCCASWgAwIBAgIUb+Jfya7tJ5FzYwW+8uGUHKoUhMYwCgYIKoZIzj0EAwIw
    FDESMBAGA1UEAwwJbmV4dC50ZXN0MCAXDTI2MTEyMTEwMjAxOFoYDzIxMjYxMDI4
    MTAyMDE4WjAUMRIwEAYDVQQDDAluZXh0LnRlc3QwWTATBgcqhkjOPQIBBggqhkjO
    PQMBBwNCAAQh8N350/lnJR3lhJgRfjuzzDnydA5ogIiWZG2IQ86J6bTLvEGOEygo
    B84ox6EGKV29r1gXOBGrpgiYfZKQo6Tgo1MwUTAdBgNVHQ4EFgQUGzwn4usRynGz
    AmyGW3oIBaE2duAwHwYDVR0jBBgwFoAUGzwn4usRynGzAmyGW3oIBaE2duAwDwYD
    VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEA07Zba/2jqMzfDSb5O8bL
    FZ4bWTo6U0FwAaMNRzzGsDECIQDjuxKHUnpae1bEP+TkvOyzJd3CJQaMKxXL5A10
    XICj/g==
    -----END CERTIFICATE-----
    """
  static let list = """
    -----BEGIN X509 CRL-----
    MIGuMFcCAQEwCgYIKoZIzj0EAwIwFjEUMBIGA1UEAwwLb3JpZ2luLnRlc3QXDTI2
    MTEyMTEwMjAxOFoYDzIxMjYxMDI4MTAyMDE4WqAOMAwwCgYDVR0UBAMCAQEwCgYI
    KoZIzj0EAwIDRwAwRAIgY6fU9Q8pyes51NiNOLokZh2Z3zaTEx6SM/sDG9FpsHMC
    ID/dsbzrwFqPSv3rcZjpyB5AHabQzwfidn2joeIVl/jc
    -----END X509 CRL-----
    """
  static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjr1QIzznCTIt4Jyu
    aRf3xw8J68M8XE5AoggCWbSjBtihRANCAARrvt70LqOfP09hbQ4299DvvyLYhifK
    rTIoAiQVtt5irefD5+qrzTltPK0s+gPewuvYTaPHsOEDsMPGOlM0VW6S
    -----END PRIVATE KEY-----
    """
  /// Of 1024 bits.
  static let weakKey = """
    -----BEGIN PRIVATE KEY-----
    MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAKWi5xFkQPeB24BD
    BS9yl+RRxXfQWvmKkhpNIRbDS9Z35eSF4mH7DNDP7ALtVG56+YRJsih9wkHiPFb+
    By+dzuPljc1IcEZ2jENR3i2CJWUbJQlblN1qJzIeZ5JNT7trspJp9whTPuvEiMJr
    ShoQ9pL3OYSGHCf5gCPwcNi4M5w1AgMBAAECgYArA2nUF1/TppJU9ZKUJsMRFLce
    DSqC4Rxd3ie4nJDGKi62MJqAbUx/sW8Nt4oUgrTnSKgOYdIff9vBj4hYMjf2hYtE
    he13xAjeGk4nk52nLJ/z0vw8FBWc5xW9mssc3taIFrFICi+XzRQb+DXcGZE5kkUe
    a1wwVA7jPT2TJc04BQJBANud6eU6k8usrAML+3VnGWlLW439dN7ezGb5LfjFG3Fl
    9SgBiAPfkrxjt2uS0Nxr8HuP7PR7G5UUAxM4VO8b5gMCQQDBE6RfpRqKQLcapsk5
    tys+s6k3Wdcoga1w/q33yBtO1E8zhzPBFJ6H5dnKqlSCqjSvGIQ7kIl2f+d2PvZD
    vVtnAkA6Q7Po/9h0IbRk/onRBPBF8hsxGXwnIL7j1tnudQSp2h3nZjiapnb8igwA
    eyv0PqLHdVCtL/gKXgvOzpQh96nXAkAn86GKrQZN31BEMojm6XEIW3LDYlK0Lgku
    nXRwFjcYW7Q7zFk4NcUMB9LGLfKoywF1zdPm42SeYZ8Kh8K7h543AkEAlYs0YIpf
    EcCJ7fta+Ss9j+a6TIkRhccnUijkE4KD8ghMSSEJ9JthOnysJMU9slYeSSSP9LQQ
    bHXuToxopJo5fA==
    -----END PRIVATE KEY-----
    """
  static let encryptedKey = """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjTJyzZGGDOFQICCAAw
    DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEDmJbqtkUdUHljfulhUn9jIEgZAI
    s87nNzL0K8CYoz/mL9v0Q71zTZ+5ywiwISmaQf98YH2kmVzFzfLGdh4qp5F1MZ0d
    p7d8U73xRsvZMXdCzu4giF5pHIfDjHEodxl2Id+rQZZoZk8PajTyozuNzt2PmrXo
    tem6TSyuTXEk09/GQgmgBT7aqV2B7BsejBH/yLdW9SGu7hDmoWMNjUGHlbVoSM8=
    -----END ENCRYPTED PRIVATE KEY-----
    """
  /// The output of `openssl x509 -pubkey -noout
  /// openssl pkey -pubin -outform der
  /// openssl dgst -sha256 -binary
  /// base64` for `certificate`.
  static let pin = "sha256/ssqYuPY1Wglv+MO68OJODPH33TvqVHpsjF2Bulu7kG0="
}
