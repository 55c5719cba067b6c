import { message } from "../../../messages/message.ts";
import { type Format, jsonRequest } from "./format.ts";
import { cutText } from "./length.ts";

/** Limits of an embed in characters. */
const MAX_TITLE = 256;
const MAX_DESCRIPTION = 4_096;
const COLORS = { urgent: 0xd9_3a_2b, resolved: 0x2e_8b_57, other: 0x5b_6b_7b };

/**
 * Discord, an embed of a webhook. Source: discord.com/developers/docs/resources/webhook
 * (execute) and /message (limits of embeds).
 */
export const discord: Format = {
  isSigned: false,
  reasonIn: ["message"],
  defaultUrl: "",
  problems: ({ url }) =>
    /\/webhooks\/[^/]+\/[^/]+/.test(URL.parse(url)?.pathname ?? "")
      ? []
      : [["url", message("DISCORD_URL_INVALID")]],
  request: ({ url }, { title, text, isUrgent, isResolved }) =>
    jsonRequest(url, {
      embeds: [
        {
          title: cutText(title, MAX_TITLE, withoutMarkup),
          description: cutText(text, MAX_DESCRIPTION, withoutMarkup),
          color: isResolved ? COLORS.resolved : isUrgent ? COLORS.urgent : COLORS.other,
        },
      ],
      // Text of a server must not notify anybody.
      allowed_mentions: { parse: [] },
    }),
};

/** Text whose characters are not read as Markdown, such as links. */
function withoutMarkup(text: string): string {
  return text.replace(/[\\*_~`|>#[\]()<-]/g, "\\$&");
}
