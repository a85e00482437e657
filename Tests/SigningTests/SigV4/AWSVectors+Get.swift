// From the AWS signature test suite in https://github.com/awslabs/aws-c-auth, tests/aws-signing-test-suite/v4 (header forms).
// Copyright Amazon.com, Inc. or its affiliates. All Rights Reserved. SPDX-License-Identifier: Apache-2.0.
// Changed: put together in one table. The licence: Tests/Support/licenses/aws-c-auth.txt

// swift-format-ignore-file
extension AWSVector {
  static let get: [AWSVector] = [
    AWSVector(
      "get-header-key-duplicate",
      request: """
      GET / HTTP/1.1
      Host:example.amazonaws.com
      My-Header1:value2
      My-Header1:value2
      My-Header1:value1
      """,
      canonical: """
      GET
      /

      host:example.amazonaws.com
      my-header1:value2,value2,value1
      x-amz-date:20150830T123600Z

      host;my-header1;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "dc7f04a3abfde8d472b0ab1a418b741b7c67174dad1551b4117b15527fbe966c",
      signature: "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"),
    AWSVector(
      "get-header-value-multiline",
      request: """
      GET / HTTP/1.1
      Host:example.amazonaws.com
      My-Header1:value1
        value2
           value3
      """,
      canonical: """
      GET
      /

      host:example.amazonaws.com
      my-header1:value1 value2 value3
      x-amz-date:20150830T123600Z

      host;my-header1;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "e99419459a677bc11de234014be3c4e72c1ea5b454ceb58b613061f5d7a162e8",
      signature: "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd"),
    AWSVector(
      "get-header-value-order",
      request: """
      GET / HTTP/1.1
      Host:example.amazonaws.com
      My-Header1:value4
      My-Header1:value1
      My-Header1:value3
      My-Header1:value2
      """,
      canonical: """
      GET
      /

      host:example.amazonaws.com
      my-header1:value4,value1,value3,value2
      x-amz-date:20150830T123600Z

      host;my-header1;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "31ce73cd3f3d9f66977ad3dd957dc47af14df92fcd8509f59b349e9137c58b86",
      signature: "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"),
    AWSVector(
      "get-header-value-trim",
      request: """
      GET / HTTP/1.1
      Host:example.amazonaws.com
      My-Header1: value1
      My-Header2: "a   b   c"
      """,
      canonical: """
      GET
      /

      host:example.amazonaws.com
      my-header1:value1
      my-header2:"a b c"
      x-amz-date:20150830T123600Z

      host;my-header1;my-header2;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "a726db9b0df21c14f559d0a978e563112acb1b9e05476f0a6a1c7d68f28605c7",
      signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"),
    AWSVector(
      "get-relative-normalized",
      request: """
      GET /example/.. HTTP/1.1
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
      "get-relative-relative-normalized",
      request: """
      GET /example1/example2/../.. HTTP/1.1
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
      "get-relative-relative-unnormalized", normalized: false,
      request: """
      GET /example1/example2/../.. HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /example1/example2/../..

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "76115030c0f3ff06c20fdff5ceb6d5e0b835a1743e00b94fea7c7f381269437b",
      signature: "dc33e0856fd4baca4d7aa2146c38958283844764f38c74252a333df5e613003b"),
    AWSVector(
      "get-relative-unnormalized", normalized: false,
      request: """
      GET /example/.. HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /example/..

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "0511f456aa502b456d135fcb9d749374a55228f9dbeedda1eacf659e05b0615b",
      signature: "eca7ead57bb5aa5c8e28007acd4ff04e1ff9a0ff3b237ec1554a184887ff9282"),
    AWSVector(
      "get-slash-dot-slash-normalized",
      request: """
      GET /./ HTTP/1.1
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
      "get-slash-dot-slash-unnormalized", normalized: false,
      request: """
      GET /./ HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /./

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "d67825e2268bd77a97c7688b8d72c31a3c1855b309808505ba0a9747d2465aa7",
      signature: "68714168e6557f8f2de0ef956fc24dc2593a4bd2961f8df51898d8a134695145"),
    AWSVector(
      "get-slash-normalized",
      request: """
      GET // HTTP/1.1
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
      "get-slash-pointless-dot-normalized",
      request: """
      GET /./example HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /example

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "214d50c111a8edc4819da6a636336472c916b5240f51e9a51b5c3305180cf702",
      signature: "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"),
    AWSVector(
      "get-slash-pointless-dot-unnormalized", normalized: false,
      request: """
      GET /./example HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      /./example

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "73895e0e829507e28e39fd24669aedc2434a8e179e547e3c075b42921f952cdb",
      signature: "beb03f223f7deae4146464f06e29eebbee9c8afbe15c290cf07aa8b119e14cff"),
    AWSVector(
      "get-slash-unnormalized", normalized: false,
      request: """
      GET // HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      GET
      //

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "80cb39203d058af815de2b79250ff56e1b73eb9b4718c86556cdc6f150c5d209",
      signature: "c88bcd3d312d75078c0cd961d6deae3f4c754924b01669efcfcb439fd5e5b76e"),
  ]
}
