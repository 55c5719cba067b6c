#!/bin/bash
# Watches the settings; after a broken stream it goes on where that ended, and misses nothing.
set -eu
last=
while true; do
  # Each event has an id, which Last-Event-ID gives back. No id: everything as it is, first.
  while IFS= read -r line; do
    case $line in
      'id: '*) last=${line#id: } ;;
      'data: '*) echo "${line#data: }" ;;
    esac
  done < <(curl -sSN -H "Authorization: $MOORING_TOKEN" ${last:+-H "Last-Event-ID: $last"} \
    "$MOORING_URL/api/admin/setting/watch")
  sleep 1
done
