import { Code } from "@connectrpc/connect";
import { expect } from "vitest";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { TOKEN } from "../service.ts";
import { fails, NOBODY, replies, type WireCase, wireCase } from "./case.ts";

const { listSettings, resetToken, saveSettings } = SettingService.method;

const missing = {
  code: Code.Unauthenticated,
  message: /missing token: send the admin token in the header/,
};
const wrong = { code: Code.Unauthenticated, message: /invalid token/ };
const chosen = "chosen-token-0123456789-0123456789-0123456789";

/** The admin token. These cases are last, because they change it. */
export const tokenCases: readonly WireCase[] = [
  wireCase(
    "a token can be set, as by restoring a backup, and is valid at once",
    replies(saveSettings, { settings: [{ key: "token", value: chosen }] }),
    fails(listSettings, {}, wrong),
    replies(listSettings, {}, {}, { authorization: chosen }),
    replies(
      saveSettings,
      { settings: [{ key: "token", value: TOKEN }] },
      {},
      { authorization: chosen },
    ),
  ),
  wireCase(
    "a reset returns a new token, and the old one is refused",
    fails(resetToken, {}, missing, NOBODY),
    replies(resetToken, {}, { token: expect.stringMatching(/^mooring-[\w-]{43}$/) }),
    fails(listSettings, {}, wrong),
    fails(resetToken, {}, wrong),
  ),
];
