#!/bin/sh
# Verifies a bundle, and shows that a changed copy is detected: audit.sh <bundle.json> <key file> <folder for the copy>
# Get the key from the log's server when you begin to rely on it (/.well-known/cstp-evidence-key), never together with the bundle.
set -eu
bundle=$1 key=$2 copy=$3/changed.json

echo "== the original bundle"
cstp verify "$bundle" --key "$key"

echo "== one word of an event changed: another approver"
sed 's/reviewer-one/reviewer-two/g' "$bundle" > "$copy"
if cmp -s "$bundle" "$copy"; then
  echo "nothing was changed" >&2
  exit 2
fi
if cstp verify "$copy" --key "$key"; then
  echo "the change was not detected" >&2
  exit 1
fi
echo "== the bundle is valid, the changed copy is not"
