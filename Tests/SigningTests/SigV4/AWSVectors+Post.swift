// From the AWS signature test suite in https://github.com/awslabs/aws-c-auth, tests/aws-signing-test-suite/v4 (header forms).
// Copyright Amazon.com, Inc. or its affiliates. All Rights Reserved. SPDX-License-Identifier: Apache-2.0.
// Changed: put together in one table. The licence: Tests/Support/licenses/aws-c-auth.txt

// swift-format-ignore-file
extension AWSVector {
  static let post: [AWSVector] = [
    AWSVector(
      "post-header-key-case",
      request: """
      POST / HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      POST
      /

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "553f88c9e4d10fc9e109e2aeb65f030801b70c2f6468faca261d401ae622fc87",
      signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    AWSVector(
      "post-header-key-sort",
      request: """
      POST / HTTP/1.1
      Host:example.amazonaws.com
      My-Header1:value1
      """,
      canonical: """
      POST
      /

      host:example.amazonaws.com
      my-header1:value1
      x-amz-date:20150830T123600Z

      host;my-header1;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "9368318c2967cf6de74404b30c65a91e8f6253e0a8659d6d5319f1a812f87d65",
      signature: "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"),
    AWSVector(
      "post-header-value-case",
      request: """
      POST / HTTP/1.1
      Host:example.amazonaws.com
      My-Header1:VALUE1
      """,
      canonical: """
      POST
      /

      host:example.amazonaws.com
      my-header1:VALUE1
      x-amz-date:20150830T123600Z

      host;my-header1;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "d51ced243e649e3de6ef63afbbdcbca03131a21a7103a1583706a64618606a93",
      signature: "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"),
    AWSVector(
      "post-sts-header-after",
      request: """
      POST / HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      POST
      /

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "553f88c9e4d10fc9e109e2aeb65f030801b70c2f6468faca261d401ae622fc87",
      signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    AWSVector(
      "post-sts-header-before", token: "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==",
      request: """
      POST / HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      POST
      /

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z
      x-amz-security-token:AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==

      host;x-amz-date;x-amz-security-token
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "c237e1b440d4c63c32ca95b5b99481081cb7b13c7e40434868e71567c1a882f6",
      signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"),
    AWSVector(
      "post-vanilla-empty-query-value",
      request: """
      POST /?Param1=value1 HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      POST
      /
      Param1=value1
      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "9d659678c1756bb3113e2ce898845a0a79dbbc57b740555917687f1b3340fbbd",
      signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
    AWSVector(
      "post-vanilla-query",
      request: """
      POST /?Param1=value1 HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      POST
      /
      Param1=value1
      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "9d659678c1756bb3113e2ce898845a0a79dbbc57b740555917687f1b3340fbbd",
      signature: "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"),
    AWSVector(
      "post-vanilla",
      request: """
      POST / HTTP/1.1
      Host:example.amazonaws.com
      """,
      canonical: """
      POST
      /

      host:example.amazonaws.com
      x-amz-date:20150830T123600Z

      host;x-amz-date
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
      """,
      hash: "553f88c9e4d10fc9e109e2aeb65f030801b70c2f6468faca261d401ae622fc87",
      signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    AWSVector(
      "post-x-www-form-urlencoded-parameters", signsBody: true,
      request: """
      POST / HTTP/1.1
      Content-Type:application/x-www-form-urlencoded; charset=utf-8
      Host:example.amazonaws.com
      Content-Length:13

      Param1=value1
      """,
      canonical: """
      POST
      /

      content-length:13
      content-type:application/x-www-form-urlencoded; charset=utf-8
      host:example.amazonaws.com
      x-amz-content-sha256:9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e
      x-amz-date:20150830T123600Z

      content-length;content-type;host;x-amz-content-sha256;x-amz-date
      9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e
      """,
      hash: "a89f1a5b53e37702ee6363ce1da3ce8f54386f3c8f352ae652153c2982a0bc4d",
      signature: "328d1b9eaadca9f5818ef05e8392801e091653bafec24fcab71e7344e7f51422"),
    AWSVector(
      "post-x-www-form-urlencoded", signsBody: true,
      request: """
      POST / HTTP/1.1
      Content-Type:application/x-www-form-urlencoded
      Host:example.amazonaws.com
      Content-Length:13

      Param1=value1
      """,
      canonical: """
      POST
      /

      content-length:13
      content-type:application/x-www-form-urlencoded
      host:example.amazonaws.com
      x-amz-content-sha256:9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e
      x-amz-date:20150830T123600Z

      content-length;content-type;host;x-amz-content-sha256;x-amz-date
      9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e
      """,
      hash: "b1edd1d03544c25390e32085d55b57acc9a3961bb59415ff86c45c3d89d16cfb",
      signature: "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b"),
  ]
}
