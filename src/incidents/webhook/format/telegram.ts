import { message } from "../../../messages/message.ts";
import { type Format, jsonRequest } from "./format.ts";
import { cutText } from "./length.ts";

/** Length of a message in UTF-16 units. */
const MAX_TEXT = 4_096;
const MAX_TITLE = 500;
const TOKEN = /^\d{5,20}:[\w-]{20,100}$/;
const CHAT = /^(-?\d{1,20}|@\w{4,64})$/;

/**
 * Telegram, `sendMessage` of a bot. The text is plain: its title is marked by an entity, so that
 * nothing in it is read as markup. Source: core.telegram.org/bots/api#sendmessage.
 */
export const telegram: Format = {
  isSigned: false,
  reasonIn: ["description"],
  defaultUrl: "https://api.telegram.org",
  problems: ({ token, chat }) => [
    ...(TOKEN.test(token) ? [] : [["token", message("TELEGRAM_TOKEN_INVALID")] as const]),
    ...(CHAT.test(chat) ? [] : [["chat", message("TELEGRAM_CHAT_INVALID")] as const]),
  ],
  request: ({ url, token, chat }, notification) => {
    const title = cutText(notification.title, MAX_TITLE);
    const whole = notification.text === "" ? title : `${title}\n${notification.text}`;
    return jsonRequest(`${url.replace(/\/+$/, "")}/bot${token}/sendMessage`, {
      chat_id: chat,
      text: cutText(whole, MAX_TEXT),
      entities: [{ type: "bold", offset: 0, length: title.length }],
      link_preview_options: { is_disabled: true },
    });
  },
};
