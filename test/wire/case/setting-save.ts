import { Code } from "@connectrpc/connect";
import { expect } from "vitest";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { VERSION } from "../service.ts";
import { fails, replies, type Step, type WireCase, wireCase } from "./case.ts";

const { saveSettings, getSetting, deleteSetting, listSettings } = SettingService.method;

const value = (key: string, expected: string): Step =>
  replies(getSetting, { key }, { setting: { key, value: expected } });

const refused = (
  settings: readonly { key: string; value?: string; flag?: number; type?: string }[],
  message: RegExp,
  ...fields: readonly string[]
): Step =>
  fails(saveSettings, { settings: [...settings] }, { code: Code.InvalidArgument, message, fields });

/** Saves of settings. */
export const settingSaveCases: readonly WireCase[] = [
  wireCase(
    "a saved value is read back",
    replies(saveSettings, { settings: [{ key: "site_title", value: "Quay" }] }),
    value("site_title", "Quay"),
  ),
  wireCase(
    "other members of a setting with a definition are ignored",
    replies(saveSettings, {
      settings: [
        {
          key: "hide_files",
          value: "/x/",
          help: "h",
          type: "bool",
          options: "o",
          group: 9,
          flag: 1,
        },
      ],
    }),
    replies(
      getSetting,
      { key: "hide_files" },
      {
        setting: { value: "/x/", type: "text", options: "", group: 4, flag: 0 },
      },
    ),
  ),
  wireCase(
    "a flag cannot make a private setting public",
    replies(saveSettings, { settings: [{ key: "aria2_secret", value: "Secret-flag", flag: 0 }] }),
    replies(getSetting, { key: "aria2_secret" }, { setting: { value: "Secret-flag", flag: 1 } }),
  ),
  wireCase(
    "an empty save succeeds and changes nothing",
    replies(saveSettings, { settings: [{ key: "site_title", value: "Quay" }] }),
    replies(saveSettings, {}),
    replies(saveSettings, { settings: [] }),
    value("site_title", "Quay"),
  ),
  wireCase(
    "all or nothing: one invalid value prevents the save, and every invalid one is named",
    replies(saveSettings, { settings: [{ key: "robots_txt", value: "before" }] }),
    refused(
      [
        { key: "robots_txt", value: "after" },
        { key: "default_page_size", value: "many" },
        { key: "allow_indexed", value: "perhaps" },
        { key: "pagination_type", value: "scroll" },
      ],
      /^default_page_size: .*\(and 2 more\)$/,
      "settings[1].value",
      "settings[2].value",
      "settings[3].value",
    ),
    value("robots_txt", "before"),
  ),
  wireCase(
    "numbers are validated",
    refused([{ key: "default_page_size", value: "-1" }], /default_page_size/, "settings[0].value"),
    refused([{ key: "default_page_size", value: "1.5" }], /default_page_size/, "settings[0].value"),
    refused([{ key: "default_page_size", value: "" }], /default_page_size/, "settings[0].value"),
  ),
  wireCase(
    "booleans and options are validated",
    refused([{ key: "allow_mounted", value: "yes" }], /allow_mounted/, "settings[0].value"),
    refused([{ key: "pagination_type", value: "ALL" }], /pagination_type/, "settings[0].value"),
  ),
  wireCase(
    "JSON texts and patterns are validated",
    refused([{ key: "iframe_previews", value: "[]" }], /iframe_previews/, "settings[0].value"),
    refused([{ key: "hide_files", value: "/(/" }], /hide_files/, "settings[0].value"),
  ),
  wireCase(
    "a setting without a value is refused",
    refused([{ key: "site_title" }], /site_title has no value/, "settings[0].value"),
  ),
  wireCase(
    "a setting without a key is refused",
    fails(
      saveSettings,
      { settings: [{ value: "x" }] },
      { code: Code.InvalidArgument, message: /key/ },
    ),
  ),
  wireCase(
    "the same key twice is refused",
    refused(
      [
        { key: "logo", value: "a" },
        { key: "site_title", value: "b" },
        { key: "logo", value: "a" },
      ],
      /logo occurs twice/,
      "settings[2].key",
    ),
  ),
  wireCase(
    "a readonly setting is accepted unchanged, and skipped if it is changed",
    replies(saveSettings, { settings: [{ key: "version", value: VERSION, flag: 2 }] }),
    replies(saveSettings, {
      settings: [
        { key: "version", value: "v0.0.1" },
        { key: "robots_txt", value: "beside a readonly one" },
      ],
    }),
    value("version", VERSION),
    value("robots_txt", "beside a readonly one"),
  ),
  wireCase(
    "an unknown key becomes a custom setting, private when no flag is sent",
    replies(saveSettings, { settings: [{ key: "wire_plain", value: "1" }] }),
    replies(
      getSetting,
      { key: "wire_plain" },
      {
        setting: { value: "1", type: "string", options: "", group: 0, flag: 1, help: "" },
      },
    ),
    replies(saveSettings, {
      settings: [
        {
          key: "wire_choice",
          value: "b",
          type: "select",
          options: "a,b",
          group: 42,
          flag: 0,
          help: "A choice.",
        },
      ],
    }),
    replies(
      listSettings,
      { groups: [42] },
      {
        settings: [
          {
            key: "wire_choice",
            value: "b",
            type: "select",
            options: "a,b",
            group: 42,
            flag: 0,
            help: "A choice.",
          },
        ],
      },
    ),
    refused([{ key: "wire_choice", value: "c" }], /wire_choice/, "settings[0].value"),
  ),
  wireCase(
    "a custom setting's definition is validated",
    refused([{ key: "wire_odd", value: "x", type: "colour" }], /wire_odd/, "settings[0].type"),
    refused([{ key: "wire_odd", value: "x", flag: 9 }], /wire_odd/, "settings[0].flag"),
    refused([{ key: "wire_odd", value: "x", type: "number" }], /wire_odd/, "settings[0].value"),
  ),
  wireCase(
    "a token may be set, but not to a short or empty one, and no message quotes it",
    refused([{ key: "token", value: "" }], /at least 32/, "settings[0].value"),
    refused(
      [{ key: "token", value: "Secret-31" }],
      /^(?!.*Secret-31).*at least 32/,
      "settings[0].value",
    ),
  ),
  wireCase(
    "more settings than a save allows are refused",
    fails(
      saveSettings,
      { settings: Array.from({ length: 1_001 }, (_, at) => ({ key: `many_${at}`, value: "" })) },
      { code: Code.InvalidArgument, message: /at most 1000/ },
    ),
  ),
  wireCase(
    "a dry run shows what would change and changes nothing",
    replies(saveSettings, { settings: [{ key: "home_icon", value: "A" }] }),
    replies(
      saveSettings,
      { settings: [{ key: "home_icon", value: "B" }], dryRun: true },
      { preview: { changes: [{ key: "home_icon", old_value: "A", new_value: "B" }] } },
    ),
    value("home_icon", "A"),
  ),
  wireCase(
    "a save that expects an older revision than the newest is aborted",
    replies(saveSettings, { settings: [{ key: "home_icon", value: "C" }] }),
    fails(
      saveSettings,
      { settings: [{ key: "home_icon", value: "D" }], expectedRevision: 1n },
      { code: Code.Aborted, message: /changed/ },
    ),
    value("home_icon", "C"),
  ),
  wireCase(
    "a deprecated setting can be deleted, once",
    replies(saveSettings, { settings: [{ key: "wire_old", value: "x", flag: 3 }] }),
    replies(deleteSetting, { key: "wire_old" }),
    fails(getSetting, { key: "wire_old" }, { code: Code.NotFound, message: /"wire_old"/ }),
    fails(deleteSetting, { key: "wire_old" }, { code: Code.NotFound, message: /"wire_old"/ }),
  ),
  wireCase(
    "a setting in use cannot be deleted",
    fails(
      deleteSetting,
      { key: "site_title" },
      { code: Code.FailedPrecondition, message: /"site_title".*deprecated/ },
    ),
    fails(
      deleteSetting,
      { key: "token" },
      { code: Code.FailedPrecondition, message: /"token".*deprecated/ },
    ),
  ),
  wireCase(
    "a missing key cannot be deleted",
    fails(deleteSetting, {}, { code: Code.NotFound, message: /setting/ }),
  ),
  wireCase(
    "letters of every script, line breaks and markup are stored unchanged",
    ...["Zürich 港 🛟", "a\nb\tc", '<script>&"\\', "\u2028\u2029"].flatMap((text) => [
      replies(saveSettings, { settings: [{ key: "robots_txt", value: text }] }),
      value("robots_txt", text),
    ]),
  ),
  wireCase(
    "every setting has all members of the contract after these saves",
    replies(
      listSettings,
      {},
      {
        settings: expect.not.arrayContaining([expect.objectContaining({ value: null })]),
      },
    ),
  ),
];
