import { createClient } from "@connectrpc/connect";
import { BackupService } from "../../../gen/mooring/v1/backup_service_pb.js";
import { transport } from "./client.ts";

export const backupService = createClient(BackupService, transport);
