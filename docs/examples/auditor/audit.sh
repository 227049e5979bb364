#!/bin/sh
# From a bundle to a verdict, and what a changed copy looks like: audit.sh <bundle.json> <key file> <folder for the copy>
# The key comes from the log's server when you begin to rely on it (/.well-known/cstp-evidence-key), never with the bundle.
set -eu
bundle=$1 key=$2 copy=$3/changed.json

echo "== as it was given"
cstp verify "$bundle" --key "$key"

echo "== with one word of an event changed: somebody else approved"
sed 's/reviewer-one/reviewer-two/g' "$bundle" > "$copy"
if cmp -s "$bundle" "$copy"; then
  echo "nothing was changed" >&2
  exit 2
fi
if cstp verify "$copy" --key "$key"; then
  echo "the change went unnoticed" >&2
  exit 1
fi
echo "== the bundle holds, the changed copy does not"
