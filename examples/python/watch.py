"""Watches the settings; after a broken stream it resumes without missing a change."""
import os
import time

import grpc
from mooring.v1.setting_service_pb2 import WatchSettingsRequest
from mooring.v1.setting_service_pb2_grpc import SettingServiceStub

settings = SettingServiceStub(grpc.insecure_channel(os.environ["MOORING_ADDRESS"]))
token = [("authorization", os.environ["MOORING_TOKEN"])]
after = None
while True:
    try:
        for event in settings.WatchSettings(WatchSettingsRequest(after_etag=after), metadata=token):
            after = event.etag
            for change in event.change.changes:
                print("changed at revision:", event.revision, change.key, flush=True)
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.OUT_OF_RANGE:
            after = None  # The history does not have the revision any more: begin with all settings.
        elif error.code() != grpc.StatusCode.UNAVAILABLE:
            raise
    time.sleep(1)
