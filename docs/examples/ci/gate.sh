#!/bin/sh
# Asks cstp whether a deployment is allowed; the exit status is 0 if it is. gate.sh <environment> <day> <hour> <tests_passed>
set -eu
action=$(printf '{"action":{"description":"Deploy %s","category":"deployment","context":{"environment":"%s","day":"%s","hour":%d,"tests_passed":%s}}}' \
  "${GITHUB_SHA:-this commit}" "$1" "$2" "$3" "$4")
answer=$(cstp call checkGuardrails "$action" --url "${CSTP_URL:-http://127.0.0.1:9991}")
case $answer in
*'"allowed": true'*) echo "allowed" ;;
*)
  echo "$answer" | grep -E '"(guardrail_id|message|suggestion)"' >&2
  exit 1
  ;;
esac
