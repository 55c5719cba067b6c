import { restHandler } from "mooring-gateway/fetch";
import { options } from "./routes.mjs";

export const handler = restHandler(options);
