import { message } from "../../../messages/message.ts";
import { type Format, jsonRequest } from "./format.ts";
import { cutBytes } from "./length.ts";

/** Limits in bytes: Apple's service accepts 4,096 bytes for a notification with all its members. */
const MAX_TITLE = 250;
const MAX_BODY = 3_000;

/** Bark, `/push` of its server. Source: docs/API_V2.md of Finb/bark-server. */
export const bark: Format = {
  isSigned: false,
  reasonIn: ["message"],
  defaultUrl: "https://api.day.app",
  problems: ({ token }) =>
    /^[\w-]{8,128}$/.test(token) ? [] : [["token", message("BARK_KEY_INVALID")]],
  request: ({ url, token }, { title, text, isUrgent }) =>
    jsonRequest(`${url.replace(/\/+$/, "")}/push`, {
      device_key: token,
      title: cutBytes(title, MAX_TITLE),
      body: cutBytes(text || title, MAX_BODY),
      group: "Mooring",
      level: isUrgent ? "timeSensitive" : "active",
    }),
};
