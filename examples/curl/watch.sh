#!/bin/bash
# Watches the settings; after a broken stream it resumes without missing a change.
set -eu
last=
while true; do
  # Each event has an id, which is sent back in Last-Event-ID. No id: begins with all settings.
  while IFS= read -r line; do
    case $line in
      'id: '*) last=${line#id: } ;;
      'data: '*) echo "${line#data: }" ;;
    esac
  done < <(curl -sSN -H "Authorization: $MOORING_TOKEN" ${last:+-H "Last-Event-ID: $last"} \
    "$MOORING_URL/api/admin/setting/watch")
  sleep 1
done
