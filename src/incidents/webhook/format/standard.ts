import { signedHeaders } from "../send.ts";
import type { Format } from "./format.ts";

/** Standard Webhooks 1.0: the event itself, signed. */
export const standard: Format = {
  isSigned: true,
  reasonIn: [],
  defaultUrl: "",
  problems: () => [],
  request: ({ url, secret }, { id, time, body }) => ({
    url,
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...signedHeaders(secret, { id, time, body }),
    },
    body,
  }),
};
