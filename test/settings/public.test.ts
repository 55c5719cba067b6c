import { describe, expect, test } from "vitest";
import { FLAG } from "../../src/settings/item.ts";
import { temporaryPaths } from "../store/folder.ts";
import { definitions, save, tester, testParts } from "./parts.ts";

const newPath = temporaryPaths();

/** Members that clients may rely on (docs/rest-contract.md, section 2.5). */
const CONTRACT =
  "allow_indexed, allow_mounted, announcement, audio_autoplay, audio_cover, auto_update_index, default_page_size, external_previews, favicon, filename_char_mapping, forward_direct_link_params, hide_files, home_container, home_icon, iframe_previews, logo, main_color, ocr_api, package_download, pagination_type, robots_txt, search_index, settings_layout, site_title, sso_login_enabled, sso_login_platform, version, video_autoplay".split(
    ", ",
  );

describe("the settings readable without a token", () => {
  test("have every member of the contract, each as text", async () => {
    const { publicReads } = await testParts(newPath());
    const settings = publicReads.settings(publicReads.snapshot());
    expect(CONTRACT).toHaveLength(28);
    for (const key of CONTRACT) expect(settings[key]).toBeTypeOf("string");
  });

  test("are exactly those with flag 0 or 2, sorted by key, custom ones too", async () => {
    const parts = await testParts(newPath());
    for (const flag of [0, 1, 2, 3])
      await parts.settings.save([{ key: `custom_${flag}`, value: `${flag}`, flag }], tester);
    const settings = parts.publicReads.settings(parts.publicReads.snapshot());
    const open = definitions.filter(({ flag }) => flag === FLAG.public || flag === FLAG.readonly);
    const expected = [...open.map(({ key }) => key), "custom_0", "custom_2"].sort();
    expect(Object.keys(settings)).toEqual(expected);
    expect(settings).toMatchObject({ custom_0: "0" });
  });

  test("never contain a secret", async () => {
    const { publicReads } = await testParts(newPath());
    const settings = publicReads.settings(publicReads.snapshot());
    for (const { key, secret } of definitions) if (secret) expect(settings).not.toHaveProperty(key);
  });

  test("follow every change", async () => {
    const parts = await testParts(newPath());
    const { publicReads } = parts;
    const before = publicReads.snapshot();
    await save(parts, { site_title: "Harbour" });
    expect(publicReads.settings(publicReads.snapshot())).toMatchObject({ site_title: "Harbour" });
    expect(publicReads.settings(before)).not.toMatchObject({ site_title: "Harbour" });
  });
});
