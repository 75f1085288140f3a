#!/bin/sh
# rules.sh [--kubernetes] ADDRESS: prints errand.rules.yaml with links to the runbook at ADDRESS, where you publish
# docs/runbook.md. With --kubernetes it is a PrometheusRule, for the Prometheus Operator.
set -eu
rules=$(dirname "$0")/errand.rules.yaml
indent=
if [ "${1:-}" = --kubernetes ]; then
    indent='  '
    shift
fi
if [ $# -ne 1 ] || [ "$(printf '%s' "$1" | tr -d 'A-Za-z0-9:/._~%-')" ]; then
    echo "rules.sh: expected an address without a query, such as https://docs.internal/runbook.html, got '$*'" >&2
    exit 64
fi
if [ "$indent" ]; then
    cat << 'END'
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: errand
  labels:
    app.kubernetes.io/name: errand
    app.kubernetes.io/component: metrics
spec:
END
fi
sed "s,docs/runbook\.md#,$1#,; s/^\(.\)/$indent\1/" "$rules"
