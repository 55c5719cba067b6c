import type { en, Message } from "./en.ts";
import type { enLater } from "./en-later.ts";

/** Names everything that the console says. */
export type MessageKey = keyof typeof en | keyof typeof enLater;
/** All of it in one language. */
export type Messages = Readonly<Record<MessageKey, Message>>;
