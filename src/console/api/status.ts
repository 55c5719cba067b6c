import { createClient } from "@connectrpc/connect";
import { StatusService } from "../../../gen/mooring/v1/status_service_pb.js";
import { transport } from "./client.ts";

export const statusService = createClient(StatusService, transport);
