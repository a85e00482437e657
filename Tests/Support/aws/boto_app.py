#!/usr/bin/env python3
"""An app with boto3 and keys that mean nothing. `http_proxy` is the way to AWS. Prints what worked, one word a line.

    boto_app.py URL        where AWS is, as the app knows it
"""

import sys
import urllib.request

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

config = Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1})


def client(name):
    return boto3.client(
        name, endpoint_url=sys.argv[1], region_name="eu-central-1", aws_access_key_id="DUMMY", aws_secret_access_key="DUMMY",
        aws_session_token="DUMMY", config=config)


s3 = client("s3")
s3.create_bucket(Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
keys = ["plain", "a b+c", "deep/er/key", "\u20ac", "tilde~(paren)'", "a=b&c;d"]
for key in keys:
    s3.put_object(Bucket="bucket", Key=key, Body=key.encode() * 1000, Metadata={"of": "boto3"})
for key in keys:
    assert s3.get_object(Bucket="bucket", Key=key)["Body"].read() == key.encode() * 1000, key
assert [item["Key"] for item in s3.list_objects_v2(Bucket="bucket", Prefix="", Delimiter="")["Contents"]] == sorted(keys)
print("s3")
url = s3.generate_presigned_url("get_object", {"Bucket": "bucket", "Key": "a b+c"})
assert urllib.request.urlopen(url).read() == b"a b+c" * 1000
print("presigned")
sqs = client("sqs")
queue = sqs.create_queue(QueueName="q")["QueueUrl"]
sqs.send_message(QueueUrl=f"{sys.argv[1]}/{queue.split('/', 3)[3]}", MessageBody="hello")
print("sqs")
table = client("dynamodb")
table.create_table(
    TableName="t", AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
    KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST")
table.put_item(TableName="t", Item={"k": {"S": "x"}})
assert table.get_item(TableName="t", Key={"k": {"S": "x"}})["Item"] == {"k": {"S": "x"}}
print("dynamodb")
try:
    s3.delete_bucket(Bucket="bucket")
    raise SystemExit("not denied")
except ClientError as error:
    assert error.response["Error"]["Code"] == "AccessDenied", error
print("denied")
try:
    client("sts").get_caller_identity()
    raise SystemExit("sts was signed")
except ResponseParserError as error:
    assert "gives or takes keys" in str(error), error
print("no sts")
