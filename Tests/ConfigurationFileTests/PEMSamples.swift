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

  /// RSA of 2048 bits, encrypted with `s3cr3t`.
  static let rsaKey = """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIIFLTBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQIIYT+vM1ZkVkCAggA
    MAwGCCqGSIb3DQIJBQAwHQYJYIZIAWUDBAEqBBDw5abhpANLfyN9JatbICn4BIIE
    0A6sR6by3KZDVWsY/OauxZAGNRJLZ4lpHYQEP6JlpJGY//j6ZGP4GqO4tkFG/R4s
    azaFGhBnf5vvP0Af7taIwCkJKKY0GALRtVChtWdffYEovcrrqqrzcQmK4RpInrIv
    2nvxGtX1GNtempZHLi4IL0CrCH3zuLVuyYeQhV9BVnrzFhoFpUwZE/OrFY10dUJF
    uB1eqiGoA4DCXeS5dqEnjWAbFHu6B2wL3gSK3DMt2W8fwIsjOSMqkFlFKTZtDEoV
    LSD2/mQRHwESjdWYYET/tnbONIfFt+DX0HIHMQ8oRWC2zPgCS3Fh5VhGfDt0GaTn
    e+nFhcgIZaTkB8t0YGtSBN540Jo9mNz08/uyIxY58uIkXGG2k3itutJ67YDpcB3i
    VPpmNXprAbBLVbpu0YdR9IO2IVrxy5Zb+wjfgN2ZCT9QyfPnSA1ZCmGQ9AanZQHE
    pRsCyGhl4qk145jIO+mmwfMlBeFuHq0rJVEw/bw7wZrpr1zL5zWb1ELFQF0D2QH4
    qlUk8oQwkbQHtII/WVwxt0DyhWhm1uA+fD5b4txVUdp+5QjqiVKp5cGCAunU+Kn6
    iU7JknK1DjxmeUU4GSgLjIODg80p9Cs6kT9hHTNsNZvquQWqLJQXBnx87vOu/EZW
    ObK6A83jTtKyMAD0d41CwuFh0jSAtjxSFjtOlEIWkbYZzBYPULLt1AwF/07OpBm8
    GMInyw7mWQfpPSJMQ8gsU9VpJQwDqdRNF/gQvpe5nKAyKFP7QokyvwvFdHHOtrqI
    K6jKrzy2iQ5ItX/Aqq2m7JxP0195jCwWJW9XfirCw7yUiyzDgnjmIIjLHJpzWz95
    GEJgLnTbuQ8A0Nb1EhfwTp0ZJdZ2XX2pfKuJZ4ZudNhgw7Sja2de8wJPx54xK31+
    27dQM0NOp0G4Xz6202asFRyBX4NQTE7i+CLwg15SWF3XPdjGKmfR2f5q/GTPQ2EU
    Mqppy/vOK8eZZa1CT9xQe/s6urNCMap3bSghm6im30abJrvWouzRYHFIBNbeOhS1
    Pwbq0YswPGNQU0T3KizFBPR/dRPsCfUS4Arl3DwbJ6dCQSHkgEhc0tmJLNCwykK0
    LamwzPNEv8+8Efjunb6N47A5lsFQCaAg5jLJKuiq62q8nARsxxHiORY5/ncMxjKN
    0b5nCXmO0hsPAo9UBry1V1+1SUsDM4s6Lcxb6t0ZzmaSOTBqs8fpGkplsQdt/Tf4
    xX8sYShHsTpbaw9BMVvXpqT7dO7qJigb2S+Uh52GBwVqYzsPaEs3BG0ylVCqhHHB
    N5k9DmLi80LQbvb3XzXOSeW3HW54wHA4+4zOtWk+mjlyrU15MmJX250yil3akR+Q
    ICVLop47UXHKwC6twj8lJsx8E2cmfnKX5lL05MmwRaBSEKbF06cBwE8nDS+KDxwm
    Y2VRHJhqXxSoTPjj5/8PZiqeSlg5xIlaydecj/qpQ/miDmxHk17fr9twPoutBNfC
    H+mTiTPIds9RrfJ1fPlozQv2wh7bTz2v3csUx3BuETUnr2E72btv1a5PMu+urD2G
    LzfD3cECUTXSh43KzFxk6hMdxPHFl1hx2JyNs9dDsy+KQal7u8S0VuT8jPpOl8H5
    EZYtfg+gkwHf7Domfn0g02RFBrpNk3sJhosO1+I1Gg9D
    -----END ENCRYPTED PRIVATE KEY-----
    """
}
