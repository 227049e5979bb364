#!/bin/sh
# Asks cstp whether a deployment is allowed; the exit status is 0 if it is. gate.sh <environment> <day> <hour> <tests_passed>
# In GitHub Actions, it names repository and commit: the rules that ship with cstp want a review of what changes production.
set -eu
commit=${GITHUB_SHA:-} project=${GITHUB_REPOSITORY:-}
action=$(printf '{"action":{"description":"Deploy %s","category":"deployment",%s"context":{"environment":"%s","day":"%s","hour":%d,"tests_passed":%s%s}}}' \
  "${commit:-this commit}" "${project:+\"project\":\"$project\",}" "$1" "$2" "$3" "$4" "${commit:+,\"commit\":\"$commit\"}")
answer=$(cstp call checkGuardrails "$action" --url "${CSTP_URL:-http://127.0.0.1:9991}")
case $answer in
*'"allowed": true'*) echo "allowed" ;;
*)
  echo "$answer" | grep -E '"(guardrail_id|message|suggestion)"' >&2
  exit 1
  ;;
esac
