#!/usr/bin/env python3
"""AWS by other hands: moto, which verifies every signature once a user with a key is there. Prints {"port", "id", "secret"}; ends with its
standard input. The user may use S3, SQS and DynamoDB, but delete no bucket."""

import json
import sys
import urllib.request

import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
port = server.get_host_and_port()[1]
url = f"http://127.0.0.1:{port}"
iam = boto3.client("iam", endpoint_url=url, region_name="eu-central-1", aws_access_key_id="x", aws_secret_access_key="x")
iam.create_user(UserName="proxy")
policy = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": ["s3:*", "sqs:*", "dynamodb:*"], "Resource": "*"},
        {"Effect": "Deny", "Action": ["s3:DeleteBucket"], "Resource": "*"},
    ],
}
iam.put_user_policy(UserName="proxy", PolicyName="all", PolicyDocument=json.dumps(policy))
key = iam.create_access_key(UserName="proxy")["AccessKey"]
# From now on everything is judged.
urllib.request.urlopen(urllib.request.Request(f"{url}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"})).read()
print(json.dumps({"port": port, "id": key["AccessKeyId"], "secret": key["SecretAccessKey"]}), flush=True)
sys.stdin.read()
server.stop()
