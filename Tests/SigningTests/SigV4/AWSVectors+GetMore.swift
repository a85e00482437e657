// From the AWS signature test suite in https://github.com/awslabs/aws-c-auth, tests/aws-signing-test-suite/v4 (header forms).
// Copyright Amazon.com, Inc. or its affiliates. All Rights Reserved. SPDX-License-Identifier: Apache-2.0.
// Changed: put together in one table. The licence: Tests/Support/licenses/aws-c-auth.txt

// swift-format-ignore-file
extension AWSVector {
  static let getMore: [AWSVector] = [
    AWSVector(
      "get-slashes-normalized",
      request: """
      GET //example// HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /example/

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "cb96b4ac96d501f7c5c15bc6d67b3035061cfced4af6585ad927f7e6c985c015",
      signature: "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"),
    AWSVector(
      "get-slashes-unnormalized", normalized: false,
      request: """
      GET //example// HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      //example//

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "528ec3105ee1f34ab014bb0a1a45da0ed2742a4fea3555149e5b4d5d201eb240",
      signature: "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5"),
    AWSVector(
      "get-space-normalized",
      request: """
      GET /example space/ HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /example%20space/

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "63ee75631ed7234ae61b5f736dfc7754cdccfedbff4b5128a915706ee9390d86",
      signature: "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
    AWSVector(
      "get-space-unnormalized", normalized: false,
      request: """
      GET /example space/ HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /example%20space/

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "63ee75631ed7234ae61b5f736dfc7754cdccfedbff4b5128a915706ee9390d86",
      signature: "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"),
    AWSVector(
      "get-unreserved",
      request: """
      GET /-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "6a968768eefaa713e2a6b16b589a8ea192661f098f37349f4e2c0082757446f9",
      signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
    AWSVector(
      "get-utf8",
      request: """
      GET /ሴ HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /%E1%88%B4

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "2a0a97d02205e45ce2e994789806b19270cfbbb0921b278ccf58f5249ac42102",
      signature: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
    AWSVector(
      "get-vanilla-empty-query-key",
      request: """
      GET /?Param1=value1 HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /
      Param1=value1
      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "1e24db194ed7d0eec2de28d7369675a243488e08526e8c1c73571282f7c517ab",
      signature: "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"),
    AWSVector(
      "get-vanilla-query-order-encoded",
      request: """
      GET /?Param-3=Value3&Param=Value2&%E1%88%B4=Value1 HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /
      %E1%88%B4=Value1&Param=Value2&Param-3=Value3
      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "868294f5c38bd141c4972a373a76654f1418a8e4fc18b2e7903ae45e8ae0ec71",
      signature: "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"),
    AWSVector(
      "get-vanilla-query-order-key-case",
      request: """
      GET /?Param2=value2&Param1=value1 HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /
      Param1=value1&Param2=value2
      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "816cd5b414d056048ba4f7c5386d6e0533120fb1fcfa93762cf0fc39e2cf19e0",
      signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
    AWSVector(
      "get-vanilla-query-unreserved",
      request: """
      GET /?-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /
      -._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz=-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz
      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "c30d4703d9f799439be92736156d47ccfb2d879ddf56f5befa6d1d6aab979177",
      signature: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"),
    AWSVector(
      "get-vanilla-query",
      request: """
      GET / HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63",
      signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    AWSVector(
      "get-vanilla-utf8-query",
      request: """
      GET /?ሴ=bar HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /
      %E1%88%B4=bar
      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "eb30c5bed55734080471a834cc727ae56beb50e5f39d1bff6d0d38cb192a7073",
      signature: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
    AWSVector(
      "get-vanilla-with-session-token", token: "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267",
      request: """
      GET / HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z
      x-amz-security-token:6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267

      host;x-amz-date;x-amz-security-token
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "067b36aa60031588cea4a4cde1f21215227a047690c72247f1d70b32fbbfad2b",
      signature: "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"),
    AWSVector(
      "get-vanilla",
      request: """
      GET / HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "bb579772317eb040ac9ed261061d46c1f17a8133879d6129b6e1c25292927e63",
      signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
  ]
}
