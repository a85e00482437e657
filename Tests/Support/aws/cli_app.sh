#!/bin/sh
# An app with aws-cli and keys that mean nothing. `http_proxy` is the way to AWS. Prints what worked, one word a line.
#
#     cli_app.sh AWS URL FOLDER        the program, where AWS is as the app knows it, a folder of the app's own
set -eu
aws=$1 url=$2 folder=$3
export AWS_ACCESS_KEY_ID=DUMMY AWS_SECRET_ACCESS_KEY=DUMMY AWS_SESSION_TOKEN=DUMMY AWS_DEFAULT_REGION=eu-central-1
export AWS_ENDPOINT_URL="$url" AWS_MAX_ATTEMPTS=1 AWS_PAGER= HOME="$folder" AWS_CONFIG_FILE="$folder/config"
printf '[default]\ns3 =\n  addressing_style = path\n  multipart_threshold = 6MB\n  multipart_chunksize = 5MB\n' > "$AWS_CONFIG_FILE"
cd "$folder"

echo hello > small
head -c 12000000 /dev/urandom > large
$aws s3 mb s3://cli > log
$aws s3 cp small "s3://cli/a b+c/ü.txt" >> log
$aws s3 cp "s3://cli/a b+c/ü.txt" copy >> log
cmp small copy
echo s3
# In parts, several at once.
$aws s3 cp large s3://cli/large >> log
$aws s3 cp s3://cli/large copy >> log
cmp large copy
echo multipart
# From standard input, without a length known ahead.
$aws s3 cp - s3://cli/stream < small >> log
test "$($aws s3 cp s3://cli/stream -)" = hello
test "$($aws s3 ls s3://cli/ | wc -l)" = 3
echo stream
# Without the option it asks a host of its own for SQS.
queue=$($aws --endpoint-url "$url" sqs create-queue --queue-name cli --query QueueUrl --output text)
$aws --endpoint-url "$url" sqs send-message --queue-url "$url/${queue#*://*/}" --message-body "hello & more" >> log
echo sqs
if $aws s3 rb s3://cli --force 2> denied >> log; then echo "not denied" >&2; exit 1; fi
grep -q AccessDenied denied
echo denied
if $aws sts get-caller-identity 2> refused; then echo "sts was signed" >&2; exit 1; fi
grep -q "gives or takes keys" refused
echo "no sts"
