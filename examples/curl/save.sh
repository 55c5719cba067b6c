#!/bin/sh
# Reads the public settings, saves one unless it has changed since, and prints the error of another.
set -eu
call() { curl -sS -H "Authorization: $MOORING_TOKEN" -H 'Content-Type: application/json' "$@"; echo; }

call "$MOORING_URL/api/public/settings"

# If-Match: saved only if nothing has changed since the reply with this ETag.
etag=$(call -o /dev/null -D - "$MOORING_URL/api/admin/setting/list" | tr -d '\r' | sed -n 's/^etag: //Ip')
call -H "If-Match: $etag" -d '[{"key":"site_title","value":"Harbour"}]' "$MOORING_URL/api/admin/setting/save"

# An invalid value: code 400, with each violation in data.violations.
call -d '[{"key":"default_page_size","value":"many"}]' "$MOORING_URL/api/admin/setting/save"
