import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect } from "vitest";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { TOKEN } from "../service.ts";
import { among, fails, refused, replies, type Step, type WireCase, wireCase } from "./case.ts";

const { listSettings, listDefaultSettings, getSetting, batchGetSettings } = SettingService.method;

/** Members that every setting has (docs/rest-contract.md, section 2.4). */
export const SETTING = {
  key: expect.any(String),
  value: expect.any(String),
  help: expect.any(String),
  type: expect.stringMatching(/^(string|number|bool|select|text)$/),
  options: expect.any(String),
  group: expect.any(Number),
  flag: expect.any(Number),
};

/** A list with exactly these keys, in this order, of whole settings. */
function settings(...keys: readonly string[]): unknown {
  return keys.map((key) => expect.objectContaining({ ...SETTING, key }));
}

/** A list that has settings of these keys, in this order, among others. */
function settingsAmongOthers(...keys: readonly string[]): unknown {
  return {
    asymmetricMatch: (list: { key: string }[]) => {
      expect(list.map(({ key }) => key).filter((key) => keys.includes(key))).toEqual(keys);
      for (const item of list) expect(item).toMatchObject(SETTING);
      return true;
    },
    toString: () => `settings with ${keys.join(", ")}`,
  };
}

const lists = (request: MessageInitShape<typeof listSettings.input>, found: unknown): Step =>
  replies(listSettings, request, { settings: found });
const batch = (request: MessageInitShape<typeof batchGetSettings.input>, found: unknown): Step =>
  replies(batchGetSettings, request, { settings: found });
const unknown = { code: Code.NotFound, message: /"no_such_key"/ };
const hidden = { value: "********" };
const ofTwoGroups = ["token", "index_progress", "aria2_secret", "aria2_uri"];

/** Reads of settings. */
export const settingReadCases: readonly WireCase[] = [
  wireCase(
    "a list without groups has every setting, in the order of the definitions",
    lists({}, settingsAmongOthers("version", "site_title", "logo", "hide_files", "token")),
  ),
  wireCase(
    "the defaults of a group are the values of settings that are not set",
    replies(
      listDefaultSettings,
      { groups: [1] },
      { settings: among({ ...SETTING, key: "site_title", value: "OpenList" }) },
    ),
    replies(
      listDefaultSettings,
      { groups: [0] },
      { settings: expect.not.arrayContaining([expect.objectContaining({ key: "token" })]) },
    ),
    fails(listDefaultSettings, {}, { code: Code.Unauthenticated, message: /missing/ }, {}),
  ),
  wireCase(
    "the list has the token in plain text, because the pages show it",
    lists({ groups: [0] }, among({ key: "token", value: TOKEN })),
  ),
  wireCase(
    "secrets are masked if the client requests it",
    lists({ groups: [0], maskSecrets: true }, among({ key: "token", ...hidden })),
    replies(getSetting, { key: "token", maskSecrets: true }, { setting: hidden }),
    batch({ keys: ["token"], maskSecrets: true }, [hidden]),
  ),
  wireCase(
    "groups select settings, and their order does not matter",
    lists({ groups: [5, 0] }, settingsAmongOthers(...ofTwoGroups)),
    lists({ groups: [0, 5] }, settingsAmongOthers(...ofTwoGroups)),
  ),
  wireCase(
    "one setting is read by its key",
    replies(
      getSetting,
      { key: "hide_files" },
      { setting: { ...SETTING, key: "hide_files", type: "text", group: 4, flag: 0 } },
    ),
  ),
  wireCase(
    "an unknown key is not found, and the message names it",
    fails(getSetting, { key: "no_such_key" }, unknown),
    fails(batchGetSettings, { keys: ["site_title", "no_such_key", "nor_this"] }, unknown),
  ),
  wireCase(
    "several settings are in the requested order, each once",
    batch({ keys: ["logo", "site_title", "logo"] }, settings("logo", "site_title")),
  ),
  wireCase(
    "more keys than a batch allows are refused",
    refused(batchGetSettings, { keys: Array.from({ length: 1_001 }, () => "logo") }, /1000/),
  ),
];
