/// Keys and results of RFC 9421 appendix B.
enum RFC9421 {
  static let rsaPSS = """
    -----BEGIN PRIVATE KEY-----
    MIIEvgIBADALBgkqhkiG9w0BAQoEggSqMIIEpgIBAAKCAQEAr4tmm3r20Wd/Pbqv
    P1s2+QEtvpuRaV8Yq40gjUR8y2Rjxa6dpG2GXHbPfvMs8ct+Lh1GH45x28Rw3Ry5
    3mm+oAXjyQ86OnDkZ5N8lYbggD4O3w6M6pAvLkhk95AndTrifbIFPNU8PPMO7Oyr
    FAHqgDsznjPFmTOtCEcN2Z1FpWgchwuYLPL+Wokqltd11nqqzi+bJ9cvSKADYdUA
    AN5WUtzdpiy6LbTgSxP7ociU4Tn0g5I6aDZJ7A8Lzo0KSyZYoA485mqcO0GVAdVw
    9lq4aOT9v6d+nb4bnNkQVklLQ3fVAvJm+xdDOp9LCNCN48V2pnDOkFV6+U9nV5oy
    c6XI2wIDAQABAoIBAQCUB8ip+kJiiZVKF8AqfB/aUP0jTAqOQewK1kKJ/iQCXBCq
    pbo360gvdt05H5VZ/RDVkEgO2k73VSsbulqezKs8RFs2tEmU+JgTI9MeQJPWcP6X
    aKy6LIYs0E2cWgp8GADgoBs8llBq0UhX0KffglIeek3n7Z6Gt4YFge2TAcW2WbN4
    XfK7lupFyo6HHyWRiYHMMARQXLJeOSdTn5aMBP0PO4bQyk5ORxTUSeOciPJUFktQ
    HkvGbym7KryEfwH8Tks0L7WhzyP60PL3xS9FNOJi9m+zztwYIXGDQuKM2GDsITeD
    2mI2oHoPMyAD0wdI7BwSVW18p1h+jgfc4dlexKYRAoGBAOVfuiEiOchGghV5vn5N
    RDNscAFnpHj1QgMr6/UG05RTgmcLfVsI1I4bSkbrIuVKviGGf7atlkROALOG/xRx
    DLadgBEeNyHL5lz6ihQaFJLVQ0u3U4SB67J0YtVO3R6lXcIjBDHuY8SjYJ7Ci6Z6
    vuDcoaEujnlrtUhaMxvSfcUJAoGBAMPsCHXte1uWNAqYad2WdLjPDlKtQJK1diCm
    rqmB2g8QE99hDOHItjDBEdpyFBKOIP+NpVtM2KLhRajjcL9Ph8jrID6XUqikQuVi
    4J9FV2m42jXMuioTT13idAILanYg8D3idvy/3isDVkON0X3UAVKrgMEne0hJpkPL
    FYqgetvDAoGBAKLQ6JZMbSe0pPIJkSamQhsehgL5Rs51iX4m1z7+sYFAJfhvN3Q/
    OGIHDRp6HjMUcxHpHw7U+S1TETxePwKLnLKj6hw8jnX2/nZRgWHzgVcY+sPsReRx
    NJVf+Cfh6yOtznfX00p+JWOXdSY8glSSHJwRAMog+hFGW1AYdt7w80XBAoGBAImR
    NUugqapgaEA8TrFxkJmngXYaAqpA0iYRA7kv3S4QavPBUGtFJHBNULzitydkNtVZ
    3w6hgce0h9YThTo/nKc+OZDZbgfN9s7cQ75x0PQCAO4fx2P91Q+mDzDUVTeG30mE
    t2m3S0dGe47JiJxifV9P3wNBNrZGSIF3mrORBVNDAoGBAI0QKn2Iv7Sgo4T/XjND
    dl2kZTXqGAk8dOhpUiw/HdM3OGWbhHj2NdCzBliOmPyQtAr770GITWvbAI+IRYyF
    S7Fnk6ZVVVHsxjtaHy1uJGFlaZzKR4AGNaUTOJMs6NadzCmGPAxNQQOCqoUjn4XR
    rOjr9w349JooGXhOxbu8nOxX
    -----END PRIVATE KEY-----
    """
  static let p256 = """
    -----BEGIN EC PRIVATE KEY-----
    MHcCAQEEIFKbhfNZfpDsW43+0+JjUr9K+bTeuxopu653+hBaXGA7oAoGCCqGSM49
    AwEHoUQDQgAEqIVYZVLCrPZHGHjP17CTW0/+D9Lfw0EkjqF7xB4FivAxzic30tMM
    4GF+hR6Dxh71Z50VGGdldkkDXZCnTNnoXQ==
    -----END EC PRIVATE KEY-----
    """
  static let ed25519 = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
    -----END PRIVATE KEY-----
    """
  /// Base64.
  static let secret =
    "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBt"
    + "bmHhIDi6pcl8jsasjlTMtDQ=="
  /// The request of B.2, as it would be written.
  static let request =
    "POST /foo?param=Value&Pet=dog HTTP/1.1\r\nHost: example.com\r\nDate: Tue, 20 Apr 2021 02:07:55 GMT\r\n"
    + "Content-Type: application/json\r\nContent-Digest: sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+T"
    + "aPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:\r\nContent-Length: 18\r\n"
  static let b21Base = [
    #""@signature-params": ();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd""#
  ].joined(separator: "\n")
  static let b21Input =
    #"sig-b21=();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd""#
  static let b21Signature =
    #"d2pmTvmbncD3xQm8E9ZV2828BjQWGgiwAaw5bAkgibUopemLJcWDy/lkbbHAve4cRAtx31Iq786U7it++wgGxbtRxf8Udx7zFZsc"#
    + #"kzXaJMkA7ChG52eSkFxykJeNqsrWH5S+oxNFlD4dzVuwe8DhTSja8xxbR/Z2cOGdCbzR72rgFWhzx2VjBqJzsPLMIQKhO4DGezXe"#
    + #"hhWwE56YCE+O6c0mKZsfxVrogUvA4HELjVKWmAvtl6UnCh8jYzuVG5WSb/QEVPnP5TmcAnLH1g+s++v6d4s8m0gCw1fV5/SITLq9"#
    + #"mhho8K3+7EPYTU8IU1bLhdxO5Nyt8C8ssinQ98Xw9Q=="#
  static let b22Base = [
    #""@authority": example.com"#,
    #""content-digest": sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLv"#
      + #"RwEmTHWXvJwew==:"#,
    #""@query-param";name="Pet": dog"#,
    #""@signature-params": ("@authority" "content-digest" "@query-param";name="Pet");created=1618884473;ke"#
      + #"yid="test-key-rsa-pss";tag="header-example""#,
  ].joined(separator: "\n")
  static let b22Input =
    #"sig-b22=("@authority" "content-digest" "@query-param";name="Pet");created=1618884473;keyid="test-key"#
    + #"-rsa-pss";tag="header-example""#
  static let b22Signature =
    #"LjbtqUbfmvjj5C5kr1Ugj4PmLYvx9wVjZvD9GsTT4F7GrcQEdJzgI9qHxICagShLRiLMlAJjtq6N4CDfKtjvuJyE5qH7KT8UCMkS"#
    + #"owOB4+ECxCmT8rtAmj/0PIXxi0A0nxKyB09RNrCQibbUjsLS/2YyFYXEu4TRJQzRw1rLEuEfY17SARYhpTlaqwZVtR8NV7+4UKkj"#
    + #"qpcAoFqWFQh62s7Cl+H2fjBSpqfZUJcsIk4N6wiKYd4je2U/lankenQ99PZfB4jY3I5rSV2DSBVkSFsURIjYErOs0tFTQosMTAox"#
    + #"k//0RoKUqiYY8Bh0aaUEb0rQl3/XaVe4bXTugEjHSw=="#
  static let b23Base = [
    #""date": Tue, 20 Apr 2021 02:07:55 GMT"#,
    #""@method": POST"#,
    #""@path": /foo"#,
    #""@query": ?param=Value&Pet=dog"#,
    #""@authority": example.com"#,
    #""content-type": application/json"#,
    #""content-digest": sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLv"#
      + #"RwEmTHWXvJwew==:"#,
    #""content-length": 18"#,
    #""@signature-params": ("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest""#
      + #" "content-length");created=1618884473;keyid="test-key-rsa-pss""#,
  ].joined(separator: "\n")
  static let b23Input =
    #"sig-b23=("date" "@method" "@path" "@query" "@authority" "content-type" "content-digest" "content-len"#
    + #"gth");created=1618884473;keyid="test-key-rsa-pss""#
  static let b23Signature =
    #"bbN8oArOxYoyylQQUU6QYwrTuaxLwjAC9fbY2F6SVWvh0yBiMIRGOnMYwZ/5MR6fb0Kh1rIRASVxFkeGt683+qRpRRU5p2voTp76"#
    + #"8ZrCUb38K0fUxN0O0iC59DzYx8DFll5GmydPxSmme9v6ULbMFkl+V5B1TP/yPViV7KsLNmvKiLJH1pFkh/aYA2HXXZzNBXmIkoQo"#
    + #"Ld7YfW91kE9o/CCoC1xMy7JA1ipwvKvfrs65ldmlu9bpG6A9BmzhuzF8Eim5f8ui9eH8LZH896+QIF61ka39VBrohr9iyMUJpvRX"#
    + #"2Zbhl5ZJzSRxpJyoEZAFL2FUo5fTIztsDZKEgM4cUA=="#
  static let b24Base = [
    #""@status": 200"#,
    #""content-type": application/json"#,
    #""content-digest": sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJ"#
      + #"uahq4l5aGgfLQ==:"#,
    #""content-length": 23"#,
    #""@signature-params": ("@status" "content-type" "content-digest" "content-length");created=1618884473"#
      + #";keyid="test-key-ecc-p256""#,
  ].joined(separator: "\n")
  static let b24Input =
    #"sig-b24=("@status" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-"#
    + #"key-ecc-p256""#
  static let b24Signature =
    #"wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw=="#
  static let b25Base = [
    #""date": Tue, 20 Apr 2021 02:07:55 GMT"#,
    #""@authority": example.com"#,
    #""content-type": application/json"#,
    #""@signature-params": ("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secr"#
      + #"et""#,
  ].joined(separator: "\n")
  static let b25Input =
    #"sig-b25=("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret""#
  static let b25Signature =
    #"pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8="#
  static let b26Base = [
    #""date": Tue, 20 Apr 2021 02:07:55 GMT"#,
    #""@method": POST"#,
    #""@path": /foo"#,
    #""@authority": example.com"#,
    #""content-type": application/json"#,
    #""content-length": 18"#,
    #""@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length");created"#
      + #"=1618884473;keyid="test-key-ed25519""#,
  ].joined(separator: "\n")
  static let b26Input =
    #"sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;k"#
    + #"eyid="test-key-ed25519""#
  static let b26Signature =
    #"wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw=="#
}
