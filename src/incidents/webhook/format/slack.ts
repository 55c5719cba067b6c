import { type Format, jsonRequest } from "./format.ts";
import { cutText } from "./length.ts";

/** Recommended length of `text` in characters. */
const MAX_TEXT = 4_000;
/** Part of it for the title. */
const MAX_TITLE = 500;

/**
 * Slack, an incoming webhook; also understood by Mattermost and Rocket.Chat.
 * Source: docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, and its page on the
 * formatting of text.
 */
export const slack: Format = {
  isSigned: false,
  reasonIn: [],
  defaultUrl: "",
  problems: () => [],
  request: ({ url }, notification) => {
    const title = cutText(notification.title, MAX_TITLE, withoutMarkup);
    const left = MAX_TEXT - title.length - "**\n".length;
    const text = cutText(notification.text, left, withoutMarkup);
    return jsonRequest(url, { text: text === "" ? `*${title}*` : `*${title}*\n${text}` });
  },
};

/** Text without links and mentions: Slack gives `&`, `<` and `>` a meaning. */
function withoutMarkup(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
