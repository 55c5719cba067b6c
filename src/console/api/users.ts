import { createClient } from "@connectrpc/connect";
import { UserService } from "../../../gen/mooring/v1/user_service_pb.js";
import { transport } from "./client.ts";

export const userService = createClient(UserService, transport);
