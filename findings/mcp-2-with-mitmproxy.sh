#!/bin/sh
# mcp 2.3.0 (MCP's SDK for Python) and mitmproxy 11.0.2, the last one for Python 3.11; pip 23.2.1, CPython 3.11.7.
# They cannot be installed together: mcp 2 needs httpx2 >= 2.10, each release of which needs the httpcore2 of its own
# number, and each of these needs h11 >= 0.16; mitmproxy 11 needs h11 <= 0.14. Neither says so itself, and pip tries
# all releases of httpx2 before it does. With Python 3.12, mitmproxy 12 lets both in. So a program that runs beside
# mitmproxy on 3.11 has SDK 1, which does not know MCP's revision 2026-07-28.
#
# Seen:
#   mcp 1.30.0 and mitmproxy 11.0.2: h11-0.14.0
#   mcp 2.3.0 and mitmproxy 11.0.2: mitmproxy 11.0.2 depends on h11<=0.14.0 and >=0.11; httpcore2 depends on h11>=0.16
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder"
for version in 1.30.0 2.3.0; do
  status=0
  "$folder/bin/pip" install --disable-pip-version-check --dry-run --ignore-installed \
    "mcp==$version" mitmproxy==11.0.2 >"$folder/said" 2>&1 || status=1
  if [ "$version" = 1.30.0 ]; then
    test $status = 0
    seen=$(sed -n 's/^Would install .*\(h11-[0-9.]*\) .*/\1/p' "$folder/said")
  else
    test $status = 1
    grep -q ResolutionImpossible "$folder/said"
    seen="$(sed -n 's/^ *\(mitmproxy 11\.0\.2 depends on h11<=.*\)$/\1/p' "$folder/said"); $(
      sed -n 's/^ *\(httpcore2\) [0-9.]* \(depends on h11>=0\.16\)$/\1 \2/p' "$folder/said")"
    test "$seen" = "mitmproxy 11.0.2 depends on h11<=0.14.0 and >=0.11; httpcore2 depends on h11>=0.16"
  fi
  echo "mcp $version and mitmproxy 11.0.2: $seen"
done
