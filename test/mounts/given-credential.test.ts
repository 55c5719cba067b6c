// Credentials that servers refresh, such as a refresh token: a given one is sent to the sites once.
import { expect, test } from "vitest";
import { createDraft } from "../../src/ledger/draft.ts";
import { draftMounts, MOUNTS } from "../../src/mounts/kind.ts";
import { decideSave } from "../../src/mounts/save.ts";
import { baseOf, snapshotOf } from "../settings/staged.ts";
import { saveRules } from "./save-rules.ts";

const config = { drive_type: "default", root_folder_id: "root", remove_way: "trash" };
const INPUT = {
  name: "films",
  path: "/films",
  driver: "AliyundriveOpen",
  sites: "all" as const,
};

/** Revisions of the credential in general and on the site `one`, before and after a save. */
async function revisionsAfter(given: string, reveals: boolean) {
  const draft = createDraft(baseOf(snapshotOf(1, [])));
  const own = (value: string) => ({
    one: { path: "", members: {}, config: { refresh_token: value } },
  });
  const save = async (value: string, rules: Parameters<typeof saveRules>[0]) => {
    const input = { ...INPUT, config: { ...config, refresh_token: value }, overrides: own(value) };
    await decideSave(draft, [input], draftMounts(draft), saveRules(rules));
    const saved = draft.get(MOUNTS, "films");
    const [override] = Object.values(saved?.overrides ?? {});
    return [saved?.credentialRevision, override?.credentialRevision];
  };
  const before = await save("token-kept", { isAdopted: true });
  return { before, after: await save(given, { reveals }) };
}

test.each([
  { given: "token-kept", reveals: true, isSent: false },
  { given: "token-new", reveals: true, isSent: true },
  // Whether it is sent must not say if the guess is right.
  { given: "token-kept", reveals: false, isSent: true },
  { given: "token-new", reveals: false, isSent: true },
])(
  "$given, of a caller with the right to read it: $reveals; it is sent to the sites: $isSent",
  async ({ given, reveals, isSent }) => {
    const { before, after } = await revisionsAfter(given, reveals);
    expect(after).toEqual(isSent ? [2, 2] : before);
  },
);
