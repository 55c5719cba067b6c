import type { DescMessage } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { fails, refused, replies, type Step, type WireCase, wireCase } from "./case.ts";

const { saveSettings, getSetting, deleteSetting, listSettings } = SettingService.method;

const gets = (key: string, setting: object): Step => replies(getSetting, { key }, { setting });
const value = (key: string, expected: string): Step => gets(key, { key, value: expected });
interface Item {
  readonly key: string;
  readonly value?: string;
  readonly type?: string;
  readonly options?: string;
  readonly help?: string;
  readonly group?: number;
  readonly flag?: number;
}
const saves = (...settings: readonly Item[]): Step =>
  replies(saveSettings, { settings: [...settings] });
const choice = {
  key: "wire_choice",
  value: "b",
  type: "select",
  options: "a,b",
  group: 42,
  flag: 0,
  help: "A choice.",
};

/** Saves of settings. Every refusal: test/settings. */
export const settingSaveCases: readonly WireCase[] = [
  wireCase(
    "a saved value is read back",
    saves({ key: "site_title", value: "Quay" }),
    value("site_title", "Quay"),
  ),
  wireCase(
    "other members of a setting with a definition are ignored",
    saves({ ...choice, key: "hide_files", value: "/x/", type: "bool", group: 9, flag: 1 }),
    gets("hide_files", { value: "/x/", type: "text", options: "", group: 4, flag: 0 }),
  ),
  wireCase(
    "a flag cannot make a private setting public",
    saves({ key: "aria2_secret", value: "Secret-flag", flag: 0 }),
    gets("aria2_secret", { value: "Secret-flag", flag: 1 }),
  ),
  wireCase(
    "all or nothing: one invalid value prevents the save, and every invalid one is named",
    saves({ key: "robots_txt", value: "before" }),
    refused(
      saveSettings,
      {
        settings: [
          { key: "robots_txt", value: "after" },
          { key: "default_page_size", value: "many" },
          { key: "allow_indexed", value: "perhaps" },
          { key: "pagination_type", value: "scroll" },
        ],
      },
      /^default_page_size: .*\(and 2 more\)$/,
      ...[1, 2, 3].map((at) => `settings[${at}].value`),
    ),
    value("robots_txt", "before"),
  ),
  wireCase(
    "a setting without a key is refused",
    refused(saveSettings, { settings: [{ value: "x" }] }, /key/),
  ),
  wireCase(
    "an unknown key becomes a custom setting, private when no flag is sent",
    saves({ key: "wire_plain", value: "1" }),
    gets("wire_plain", { value: "1", type: "string", options: "", group: 0, flag: 1, help: "" }),
    saves(choice),
    replies(listSettings, { groups: [42] }, { settings: [choice] }),
    refused(
      saveSettings,
      { settings: [{ key: "wire_choice", value: "c" }] },
      /wire_choice/,
      "settings[0].value",
    ),
  ),
  wireCase(
    "a token may be set, but not to a short or empty one, and no message quotes it",
    ...["", "Secret-31"].map((text) =>
      refused(
        saveSettings,
        { settings: [{ key: "token", value: text }] },
        /^(?!.*Secret-31).*at least 32/,
        "settings[0].value",
      ),
    ),
  ),
  wireCase(
    "a dry run shows what would change and changes nothing",
    saves({ key: "home_icon", value: "A" }),
    replies(
      saveSettings,
      { settings: [{ key: "home_icon", value: "B" }], dryRun: true },
      { preview: { changes: [{ key: "home_icon", old_value: "A", new_value: "B" }] } },
    ),
    value("home_icon", "A"),
  ),
  wireCase(
    "a save that expects an older state than the newest is aborted",
    saves({ key: "home_icon", value: "C" }),
    fails(
      saveSettings,
      { settings: [{ key: "home_icon", value: "D" }], expectedEtag: "0" },
      { code: Code.Aborted, message: /changed/ },
    ),
    value("home_icon", "C"),
  ),
  wireCase(
    "a deprecated setting can be deleted, once",
    saves({ key: "wire_old", value: "x", flag: 3 }),
    replies(deleteSetting, { key: "wire_old" }),
    ...[getSetting, deleteSetting].map((method) =>
      fails<DescMessage>(
        method,
        { key: "wire_old" },
        { code: Code.NotFound, message: /"wire_old"/ },
      ),
    ),
  ),
  wireCase(
    "a setting in use cannot be deleted",
    ...["site_title", "token"].map((key) =>
      fails(
        deleteSetting,
        { key },
        { code: Code.FailedPrecondition, message: new RegExp(`"${key}".*deprecated`) },
      ),
    ),
  ),
  wireCase(
    "a missing key cannot be deleted",
    fails(deleteSetting, {}, { code: Code.NotFound, message: /setting/ }),
  ),
  wireCase(
    "letters of every script, line breaks and markup are stored unchanged",
    ...["Zürich 港 🛟", "a\nb\tc", '<script>&"\\', "\u2028\u2029"].flatMap((text) => [
      saves({ key: "robots_txt", value: text }),
      value("robots_txt", text),
    ]),
  ),
];
