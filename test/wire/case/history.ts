import type { DescMessage } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect } from "vitest";
import { BackupService } from "../../../gen/mooring/v1/backup_service_pb.js";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { among, fails, refused, replies, type WireCase, wireCase } from "./case.ts";

const { saveSettings, listRevisions, getRevision, diffRevisions, rollback, getSetting } =
  SettingService.method;

const { exportArchive, importArchive } = BackupService.method;

/** History, rollback and backup: that each method is served over each transport. */
export const historyCases: readonly WireCase[] = [
  wireCase(
    "the history has each save, newest first",
    replies(saveSettings, { settings: [{ key: "favicon", value: "/one.ico" }] }),
    replies(
      listRevisions,
      { pageSize: 1 },
      { revisions: [{ actor: "admin", method: "SaveSettings", keys: ["favicon"] }] },
    ),
    replies(listRevisions, { key: "favicon" }, { revisions: among({ keys: ["favicon"] }) }),
  ),
  wireCase(
    "a revision has its changes",
    replies(
      getRevision,
      { revision: 1n },
      {
        revision: { revision: "1" },
        changes: among({ key: "token", secret: true, new_value: "********" }),
      },
    ),
    fails(getRevision, { revision: 4711n }, { code: Code.NotFound, message: /4711/ }),
  ),
  wireCase(
    "two revisions can be compared, and the first one brought back",
    replies(
      diffRevisions,
      { from: 1n, to: 0n },
      { changes: among({ key: "favicon", new_value: "/one.ico" }) },
    ),
    replies(
      rollback,
      { to: 1n, only: ["favicon"] },
      {
        changes: [{ key: "favicon", old_value: "/one.ico", items: [] }],
        results: [{ kind: "setting", key: "favicon", outcome: "changed", differs: ["value"] }],
      },
    ),
    replies(
      getSetting,
      { key: "favicon" },
      { setting: { value: expect.not.stringMatching("one") } },
    ),
  ),
  wireCase(
    "a NUL character is refused in any field, with its name",
    ...(
      [
        [saveSettings, { settings: [{ key: "logo", value: "a\0b" }] }, "settings[0].value"],
        [saveSettings, { settings: [{ key: "a\0", value: "" }] }, "settings[0].key"],
        [saveSettings, { settings: [{ key: "logo", value: "" }], reason: "\0" }, "reason"],
        [listRevisions, { key: "\0" }, "key"],
        [listRevisions, { actor: "adm\0in" }, "actor"],
        [rollback, { to: 1n, only: ["logo", "\0"] }, "only[1]"],
        [rollback, { to: 1n, reason: "\0" }, "reason"],
      ] as const
    ).map(([method, request, field]) =>
      refused<DescMessage>(method, request, /: must not contain the NUL character$/, field),
    ),
    refused(
      importArchive,
      { document: { settings: [{ key: "logo", value: "a\0b", type: "text", group: 1 }] } },
      /^logo: must not contain the NUL character$/,
      "logo",
    ),
  ),
  wireCase(
    "an export can be imported again",
    replies(
      exportArchive,
      {},
      { document: expect.objectContaining({ settings: expect.anything() }) },
    ),
    refused(importArchive, {}, /document/, "document"),
    refused(importArchive, { document: { nonsense: true } }, /./),
  ),
];
