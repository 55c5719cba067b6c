import type { auditTexts } from "./en/audit.ts";
import type { backupTexts } from "./en/backup.ts";
import type { daysTexts } from "./en/days.ts";
import type { driversTexts } from "./en/drivers.ts";
import type { historyTexts } from "./en/history.ts";
import type { mountDialogTexts } from "./en/mount-dialogs.ts";
import type { mountsTexts } from "./en/mounts.ts";
import type { pagesTexts } from "./en/pages.ts";
import type { recordsTexts } from "./en/records.ts";
import type { rulesTexts } from "./en/rules.ts";
import type { settingsTexts } from "./en/settings.ts";
import type { sharesTexts } from "./en/shares.ts";
import type { signInTexts } from "./en/sign-in.ts";
import type { sitesTexts } from "./en/sites.ts";
import type { tokensTexts } from "./en/tokens.ts";
import type { usersTexts } from "./en/users.ts";
import type { webhooksTexts } from "./en/webhooks.ts";
import type { en, Message } from "./en.ts";

/** Names everything that the console says. */
export type MessageKey =
  | keyof typeof en
  | keyof typeof auditTexts
  | keyof typeof backupTexts
  | keyof typeof daysTexts
  | keyof typeof driversTexts
  | keyof typeof historyTexts
  | keyof typeof mountDialogTexts
  | keyof typeof mountsTexts
  | keyof typeof pagesTexts
  | keyof typeof recordsTexts
  | keyof typeof rulesTexts
  | keyof typeof settingsTexts
  | keyof typeof sharesTexts
  | keyof typeof signInTexts
  | keyof typeof sitesTexts
  | keyof typeof tokensTexts
  | keyof typeof usersTexts
  | keyof typeof webhooksTexts;
/** All of it in one language. */
export type Messages = Readonly<Record<MessageKey, Message>>;
