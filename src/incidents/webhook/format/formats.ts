import { bark } from "./bark.ts";
import { discord } from "./discord.ts";
import type { Format } from "./format.ts";
import { ntfy } from "./ntfy.ts";
import { slack } from "./slack.ts";
import { standard } from "./standard.ts";
import { telegram } from "./telegram.ts";
import { template } from "./template.ts";

/** Formats of notifications. */
export const FORMATS = [
  "standard",
  "ntfy",
  "telegram",
  "discord",
  "slack",
  "bark",
  "template",
] as const;

export type WebhookFormat = (typeof FORMATS)[number];

export const FORMAT_OF: Readonly<Record<WebhookFormat, Format>> = {
  standard,
  ntfy,
  telegram,
  discord,
  slack,
  bark,
  template,
};
