"""Reads the public settings, saves one unless it has changed since, and prints the error of another."""
import os

import grpc
from google.rpc import error_details_pb2, status_pb2
from mooring.v1 import public_service_pb2, public_service_pb2_grpc
from mooring.v1 import setting_service_pb2, setting_service_pb2_grpc

channel = grpc.insecure_channel(os.environ["MOORING_ADDRESS"])
token = [("authorization", os.environ["MOORING_TOKEN"])]
settings = setting_service_pb2_grpc.SettingServiceStub(channel)
save = setting_service_pb2.SaveSettingsRequest
public = public_service_pb2_grpc.PublicServiceStub(channel)
seen = public.GetPublicSettings(public_service_pb2.GetPublicSettingsRequest())
print("title:", seen.settings["site_title"])

title = {"key": "site_title", "value": f"Harbour {os.getpid()}"}
saved = settings.SaveSettings(save(settings=[title], expected_etag=seen.etag), metadata=token)
print("saved at revision:", saved.revision)

try:
    settings.SaveSettings(save(settings=[{"key": "default_page_size", "value": "many"}]), metadata=token)
except grpc.RpcError as error:
    status = status_pb2.Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])
    refused = error_details_pb2.BadRequest()
    for detail in status.details:
        if detail.Unpack(refused):
            print("refused:", refused.field_violations[0].field)
