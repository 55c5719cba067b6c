import { message } from "../../../messages/message.ts";
import { type Format, jsonRequest } from "./format.ts";
import { cutBytes } from "./length.ts";

/** Limits in bytes: a longer message becomes an attachment (docs.ntfy.sh/publish). */
const MAX_MESSAGE = 4_096;
const MAX_TITLE = 250;
const TOPIC = /^[-_A-Za-z0-9]{1,64}$/;

/**
 * ntfy, published as JSON: to the address without its last part, which is the topic.
 * Source: docs.ntfy.sh/publish.
 */
export const ntfy: Format = {
  isSigned: false,
  reasonIn: ["error"],
  defaultUrl: "",
  problems: ({ url }) =>
    TOPIC.test(placeOf(url).topic) ? [] : [["url", message("NTFY_TOPIC_MISSING")]],
  request: ({ url, token }, { title, text, isUrgent, isResolved }) => {
    const { server, topic } = placeOf(url);
    const request = jsonRequest(server, {
      topic,
      title: cutBytes(title, MAX_TITLE),
      message: cutBytes(text || title, MAX_MESSAGE),
      priority: isUrgent ? 4 : 3,
      tags: [isResolved ? "white_check_mark" : isUrgent ? "warning" : "information_source"],
    });
    if (token === "") return request;
    return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
  },
};

function placeOf(url: string): { readonly server: string; readonly topic: string } {
  const { origin, pathname } = URL.parse(url) ?? { origin: "", pathname: "" };
  const parts = pathname.split("/").filter((part) => part !== "");
  return { topic: parts.at(-1) ?? "", server: `${origin}/${parts.slice(0, -1).join("/")}` };
}
