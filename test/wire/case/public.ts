import { expect } from "vitest";
import { PublicService } from "../../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { VERSION } from "../service.ts";
import { NOBODY, replies, type WireCase, wireCase } from "./case.ts";

const { ping, getPublicSettings } = PublicService.method;
const { saveSettings } = SettingService.method;

/** The members that the contract promises (section 2.5). */
export const PUBLIC_MEMBERS: readonly string[] = [
  "allow_indexed",
  "allow_mounted",
  "announcement",
  "audio_autoplay",
  "audio_cover",
  "auto_update_index",
  "default_page_size",
  "external_previews",
  "favicon",
  "filename_char_mapping",
  "forward_direct_link_params",
  "hide_files",
  "home_container",
  "home_icon",
  "iframe_previews",
  "logo",
  "main_color",
  "ocr_api",
  "package_download",
  "pagination_type",
  "robots_txt",
  "search_index",
  "settings_layout",
  "site_title",
  "sso_login_enabled",
  "sso_login_platform",
  "version",
  "video_autoplay",
];

const allMembers = Object.fromEntries(PUBLIC_MEMBERS.map((name) => [name, expect.any(String)]));
const pong = { message: "pong" };

/** Public calls. */
export const publicCases: readonly WireCase[] = [
  wireCase("ping needs no token", replies(ping, {}, pong, NOBODY)),
  wireCase(
    "ping ignores a token",
    replies(ping, {}, pong, { authorization: "" }),
    replies(ping, {}, pong, { authorization: "wrong" }),
    replies(ping, {}, pong, { authorization: "Bearer stale" }),
    replies(ping, {}, pong),
  ),
  wireCase(
    "the public settings need no token, and have every member of the contract",
    replies(getPublicSettings, {}, { settings: allMembers }, NOBODY),
  ),
  wireCase(
    "the public settings ignore a token",
    replies(getPublicSettings, {}, { settings: allMembers }, { authorization: "" }),
    replies(getPublicSettings, {}, { settings: allMembers }, { authorization: "wrong" }),
    replies(getPublicSettings, {}, { settings: allMembers }, { authorization: "Bearer stale" }),
    replies(getPublicSettings, {}, { settings: allMembers }),
  ),
  wireCase(
    "the version is the program's",
    replies(getPublicSettings, {}, { settings: { version: VERSION } }, NOBODY),
  ),
  wireCase(
    "private settings are not public",
    replies(getPublicSettings, {}, { settings: without("token", "aria2_secret") }, NOBODY),
  ),
  wireCase(
    "a saved public setting is public at once, and a custom private one never",
    replies(saveSettings, {
      settings: [
        { key: "site_title", value: "Harbour" },
        { key: "custom_open", value: "seen", flag: 0 },
        { key: "custom_closed", value: "unseen" },
      ],
    }),
    replies(
      getPublicSettings,
      {},
      { settings: { ...allMembers, site_title: "Harbour", custom_open: "seen" } },
      NOBODY,
    ),
    replies(getPublicSettings, {}, { settings: without("custom_closed") }, NOBODY),
  ),
];

function without(...names: readonly string[]): unknown {
  return expect.not.objectContaining(
    Object.fromEntries(names.map((name) => [name, expect.anything()])),
  );
}
